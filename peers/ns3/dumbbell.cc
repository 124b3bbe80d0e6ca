// Many long SACK flows over one bottleneck, in ns-3: the dumbbell of peers/ns2/dumbbell.tcl.
//
//   dumbbell [--flows=50] [--until=60] [--count=0|1]
//
//   sender i --- 1 Gbit/s, 1.0 + 0.1 i ms --- left === 100 Mbit/s, 20 ms === right --- 1 Gbit/s, 1 ms --- receiver i
//
// Flow i starts at 0.01 i s and never ends. NewReno with SACK, segments of 1000 B, no timestamps, an ACK for every second
// segment, first window 2, never more than 200 segments outstanding (both socket buffers). The bottleneck's device
// queue is drop-tail, 500 packets; no queueing discipline sits above any device.
// --count=1 also counts data packets and refusals at the bottleneck, which costs time: not for timing.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>
#include <sys/resource.h>

namespace
{

constexpr uint32_t kSegment = 1000;
constexpr uint32_t kWindow = 200 * kSegment;
constexpr uint16_t kPort = 9;

double UserSeconds()
{
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec) + 1e-6 * static_cast<double>(used.ru_utime.tv_usec);
}

uint64_t g_offered = 0;
uint64_t g_refused = 0;

void Offered(ns3::Ptr<const ns3::Packet> packet)
{
    g_offered += packet->GetSize() >= kSegment ? 1 : 0;
}

void Refused(ns3::Ptr<const ns3::Packet>)
{
    ++g_refused;
}

// One link between two nodes with addresses on both ends and nothing above the device queues; the far address comes back.
class Wiring
{
  public:
    ns3::Ipv4Address Join(ns3::Ptr<ns3::Node> one, ns3::Ptr<ns3::Node> other, const char* rate, ns3::Time delay, const char* limit)
    {
        ns3::PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", ns3::StringValue(rate));
        link.SetChannelAttribute("Delay", ns3::TimeValue(delay));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns3::StringValue(limit));
        m_last = link.Install(one, other);
        auto ends = m_addresses.Assign(m_last);
        m_addresses.NewNetwork();
        ns3::TrafficControlHelper().Uninstall(m_last);
        return ends.GetAddress(1);
    }

    ns3::NetDeviceContainer Last() const
    {
        return m_last;
    }

  private:
    ns3::Ipv4AddressHelper m_addresses{"10.0.0.0", "255.255.255.252"};
    ns3::NetDeviceContainer m_last;
};

} // namespace

int main(int argc, char** argv)
{
    uint32_t flows = 50;
    double until = 60;
    bool count = false;
    ns3::CommandLine words(__FILE__);
    words.AddValue("flows", "how many", flows);
    words.AddValue("until", "simulated seconds", until);
    words.AddValue("count", "count packets at the bottleneck (slower)", count);
    words.Parse(argc, argv);

    using ns3::Config::SetDefault;
    SetDefault("ns3::TcpL4Protocol::SocketType", ns3::TypeIdValue(ns3::TcpNewReno::GetTypeId()));
    SetDefault("ns3::TcpSocketBase::Sack", ns3::BooleanValue(true));
    SetDefault("ns3::TcpSocketBase::Timestamp", ns3::BooleanValue(false));
    SetDefault("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(kSegment));
    SetDefault("ns3::TcpSocket::DelAckCount", ns3::UintegerValue(2));
    SetDefault("ns3::TcpSocket::InitialCwnd", ns3::UintegerValue(2));
    SetDefault("ns3::TcpSocket::SndBufSize", ns3::UintegerValue(kWindow));
    SetDefault("ns3::TcpSocket::RcvBufSize", ns3::UintegerValue(kWindow));

    const double begun = UserSeconds();
    ns3::NodeContainer routers(2);
    ns3::NodeContainer senders(flows);
    ns3::NodeContainer receivers(flows);
    ns3::InternetStackHelper stack;
    stack.InstallAll();

    Wiring wiring;
    wiring.Join(routers.Get(0), routers.Get(1), "100Mbps", ns3::MilliSeconds(20), "500p");
    if (count)
    {
        auto device = wiring.Last().Get(0);
        device->TraceConnectWithoutContext("MacTx", ns3::MakeCallback(&Offered));
        routers.Get(0)->GetObject<ns3::TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", ns3::MakeCallback(&Refused));
        device->TraceConnectWithoutContext("MacTxDrop", ns3::MakeCallback(&Refused));
    }

    ns3::PacketSinkHelper listen("ns3::TcpSocketFactory", ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), kPort));
    auto sinks = listen.Install(receivers);
    for (uint32_t i = 0; i < flows; ++i)
    {
        wiring.Join(senders.Get(i), routers.Get(0), "1Gbps", ns3::MicroSeconds(1000 + 100 * i), "1000p");
        auto address = wiring.Join(routers.Get(1), receivers.Get(i), "1Gbps", ns3::MilliSeconds(1), "1000p");
        ns3::BulkSendHelper bulk("ns3::TcpSocketFactory", ns3::InetSocketAddress(address, kPort));
        bulk.SetAttribute("SendSize", ns3::UintegerValue(kSegment));
        bulk.Install(senders.Get(i)).Start(ns3::Seconds(0.01 * i));
    }
    ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const double ready = UserSeconds();
    ns3::Simulator::Stop(ns3::Seconds(until));
    ns3::Simulator::Run();
    const double over = UserSeconds();

    uint64_t payload = 0;
    for (uint32_t i = 0; i < flows; ++i)
    {
        payload += ns3::DynamicCast<ns3::PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    std::cout << "delivered=" << payload / kSegment << " payload=" << payload
              << " events=" << ns3::Simulator::GetEventCount() << " setup_cpu_s=" << ready - begun
              << " run_cpu_s=" << over - ready;
    if (count)
    {
        std::cout << " data=" << g_offered << " drops=" << g_refused;
    }
    std::cout << std::endl;
    ns3::Simulator::Destroy();
    return 0;
}
