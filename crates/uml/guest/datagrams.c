/* Datagrams on behalf of a workload that runs beside the network: it orders by frames that no program sees which are
 * to be said, and is told in the same way which were heard. A datagram begins with its number. They go over UDP, or over
 * a connection of DCCP, which is opened for the first of them and closed behind the last. */
#include "guest.h"
#include <arpa/inet.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Most datagrams that wait for a connection of DCCP. */
enum { WAITING = 1 << 16 };

static int words = -1, line = -1, queue = -1, ends, ear = -1, ticks = -1;
/* What waits for a connection of DCCP: between `first` and `last`, modulo their number. */
static struct {
    uint32_t number, size;
} waiting[WAITING];
static uint32_t first, last;

static int is_dccp(void)
{
    return task.protocol == IPPROTO_DCCP;
}

/* The socket of DCCP: who hears waits for a connection, who speaks opens one for the first datagram. */
static void prepare_dccp(void)
{
    struct sockaddr_storage at;
    socklen_t n = place(&at, task.sends ? own_address() : "", task.sends ? FIRST : PORT);
    int fd = connection();
    if (bind(fd, (struct sockaddr *)&at, n) < 0 || (!task.sends && listen(fd, 1) < 0))
        fail("making a socket for datagrams");
    *(task.sends ? &line : &ear) = fd;
}

static void prepare_udp(void)
{
    struct sockaddr_storage at;
    socklen_t n = place(&at, task.sends ? own_address() : "", task.sends ? FIRST : PORT);
    line = socket(at.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (line < 0 || bind(line, (struct sockaddr *)&at, n) < 0)
        fail("making a socket for datagrams");
    n = place(&at, task.peer, PORT);
    if (task.sends && connect(line, (struct sockaddr *)&at, n) < 0)
        fail("naming the peer of a socket for datagrams");
}

void prepare_datagrams(void)
{
    if (is_dccp())
        prepare_dccp();
    else
        prepare_udp();
    words = hear_driver();
    queue = epoll_create1(0);
    watch(queue, words, EPOLLIN);
    if (!is_dccp())
        watch(queue, line, EPOLLIN);
    else if (!task.sends)
        watch(queue, ear, EPOLLIN);
    ends = watch_alarm(queue, task.until, 0);
}

/* Sends a datagram; false if it has to wait. */
static int speak(uint32_t number, size_t size)
{
    static char bytes[CHUNK];
    uint32_t head = htonl(number);
    memcpy(bytes, &head, sizeof head);
    if (size < sizeof head)
        size = sizeof head;
    if (send(line, bytes, size < sizeof bytes ? size : sizeof bytes, MSG_NOSIGNAL) >= 0)
        carried += size;
    else if (is_dccp() && (errno == EAGAIN || errno == ENOBUFS))
        return 0;
    else
        broken("sending a datagram", errno);
    return 1;
}

/* Sends what waits, as far as the connection takes it. */
static void flush(void)
{
    for (; first != last; first++)
        if (!speak(waiting[first % WAITING].number, waiting[first % WAITING].size))
            return;
}

/* Puts a datagram behind those that wait for the connection, which the first of all opens. */
static void queue_up(uint32_t number, size_t size)
{
    if (ticks < 0) {
        struct sockaddr_storage at;
        socklen_t n = place(&at, task.peer, PORT);
        if (connect(line, (struct sockaddr *)&at, n) < 0 && errno != EINPROGRESS)
            broken("connecting", errno);
        /* Without EPOLLOUT: a write to a full queue frees a buffer, of which that tells at once, for ever. */
        watch(queue, line, EPOLLIN | EPOLLRDHUP | EPOLLET);
        ticks = watch_alarm(queue, now() + DCCP_TICK, DCCP_TICK);
    }
    if (last - first == WAITING) {
        broken("keeping a datagram", ENOBUFS);
        return;
    }
    waiting[last % WAITING].number = number;
    waiting[last++ % WAITING].size = (uint32_t)size;
    flush();
}

static void hear_all(void)
{
    static char bytes[CHUNK];
    ssize_t got;
    /* Nobody may be there to hear; that is no reason to stop. */
    while ((got = recv(line, bytes, sizeof bytes, 0)) >= 0 || errno == ECONNREFUSED) {
        uint32_t number;
        if (is_dccp() && got == 0)
            return; /* the other end has closed */
        if (got < (ssize_t)sizeof number)
            continue;
        memcpy(&number, bytes, sizeof number);
        carried += (uint64_t)got;
        struct word word = {.what = HEARD, .line = ntohl(number)};
        tell_driver(words, &word, sizeof word);
    }
}

/* Orders; false once nobody waits for more. */
static int obey(void)
{
    struct word word;
    ssize_t got;
    while ((got = recv(words, &word, sizeof word, 0)) > 0) {
        if (got < (ssize_t)sizeof word || word.what != SAY)
            return 0;
        if (is_dccp())
            queue_up(word.line, (size_t)word.first);
        else
            speak(word.line, (size_t)word.first);
    }
    return 1;
}

void run_datagrams(void)
{
    int over = 0;
    for (;;) {
        struct epoll_event got;
        if (epoll_wait(queue, &got, 1, -1) != 1)
            continue;
        uint64_t times;
        if (got.data.fd == ticks && read(ticks, &times, sizeof times) < 0)
            continue;
        if (ear >= 0 && got.data.fd == ear && line < 0) {
            line = accept4(ear, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
            watch(queue, line, EPOLLIN | EPOLLRDHUP | EPOLLET);
        }
        /* What has come is heard before the word to end. */
        if (line >= 0)
            hear_all();
        over |= got.data.fd == words && !obey();
        if (got.data.fd == ends)
            return;
        if (is_dccp() && task.sends && ticks >= 0) {
            flush();
            /* Behind the last of them the connection is closed. */
            if (over && first == last && is_flushed(line)) {
                close(line);
                return;
            }
        } else if (over)
            return;
    }
}
