// Dumbbell of 50 TCP flows for 60 s in htsim, with the links of `../ns2/dumbbell.tcl`: 1 Gbit/s access links of 1 to
// 5.9 ms, a bottleneck of 100 Mbit/s, 20 ms and 500 packets. Prints user time of the simulation, packets and packet-hops.
//
//   dumbbell [FLOWS] [SECONDS]

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "clock.h"
#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

static double user_seconds() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6;
}

// A queue that drops at its tail, and counts the packets that leave it.
struct CountingQueue : Queue {
    using Queue::Queue;
    uint64_t packets = 0;
    void completeService() override {
        packets++;
        Queue::completeService();
    }
};

static std::vector<CountingQueue *> queues;

// One direction of a link: a queue, then propagation.
struct Link {
    CountingQueue *queue;
    Pipe *pipe;
    Link(EventList &events, uint64_t mbits, mem_b bytes, double ms)
        : queue(new CountingQueue(speedFromMbps(mbits), bytes, events, nullptr)),
          pipe(new Pipe(timeFromUs(uint32_t(1000 * ms + 0.5)), events)) {
        queues.push_back(queue);
    }
    void enter(Route &route) const {
        route.push_back(queue);
        route.push_back(pipe);
    }
};

int main(int argc, char **argv) {
    const int flows = argc > 1 ? atoi(argv[1]) : 50;
    const double seconds = argc > 2 ? atof(argv[2]) : 60;
    EventList events;
    events.setEndtime(timeFromSec(seconds));
    Packet::set_packet_size(1040);
    const mem_b access = 1000 * 1040, shared = 500 * 1040;
    Link there(events, 100, shared, 20), back(events, 100, shared, 20);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    std::vector<TcpSrc *> sources;
    std::vector<TcpSink *> sinks;
    for (int i = 0; i < flows; i++) {
        const double ms = 1 + 0.1 * (i % 50);
        Link near_there(events, 1000, access, ms), far_there(events, 1000, access, 1);
        Link near_back(events, 1000, access, ms), far_back(events, 1000, access, 1);
        TcpSrc *source = new TcpSrc(nullptr, nullptr, events);
        TcpSink *sink = new TcpSink();
        source->_maxcwnd = 200 * 1040;
        timers.registerTcp(*source);
        Route *out = new Route(), *in = new Route();
        for (const Link *link : {&near_there, &there, &far_there}) link->enter(*out);
        out->push_back(sink);
        for (const Link *link : {&far_back, &back, &near_back}) link->enter(*in);
        in->push_back(source);
        source->connect(*out, *in, *sink, timeFromMs(10 * (i % 50)));
        sources.push_back(source);
        sinks.push_back(sink);
    }
    const double start = user_seconds();
    while (events.doNextEvent()) {
    }
    const double took = user_seconds() - start;
    uint64_t hops = 0, data = 0;
    for (const CountingQueue *queue : queues) hops += queue->packets;
    for (size_t i = 0; i < sources.size(); i++) data += sources[i]->_packets_sent / 1040;
    std::printf("htsim %.3f s  %llu data packets %.1f ns each  %llu packet-hops %.1f ns each  bottleneck %llu packets\n", took,
                (unsigned long long)data, 1e9 * took / data, (unsigned long long)hops, 1e9 * took / hops,
                (unsigned long long)there.queue->packets);
}
