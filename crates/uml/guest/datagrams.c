/* Datagrams on behalf of a workload that runs beside the network: it orders by frames that no program sees which are
 * to be said, and is told in the same way which were heard. A datagram begins with its number. */
#include "guest.h"
#include <arpa/inet.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static int words = -1, line = -1, queue = -1, ends;

void prepare_datagrams(void)
{
    struct sockaddr_storage at;
    socklen_t n = place(&at, task.sends ? own_address() : "", task.sends ? FIRST : PORT);
    line = socket(at.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (line < 0 || bind(line, (struct sockaddr *)&at, n) < 0)
        fail("making a socket for datagrams");
    n = place(&at, task.peer, PORT);
    if (task.sends && connect(line, (struct sockaddr *)&at, n) < 0)
        fail("naming the peer of a socket for datagrams");
    words = hear_driver();
    queue = epoll_create1(0);
    watch(queue, words, EPOLLIN);
    watch(queue, line, EPOLLIN);
    ends = watch_alarm(queue, task.until, 0);
}

static void speak(uint32_t number, size_t size)
{
    static char bytes[CHUNK];
    uint32_t first = htonl(number);
    memcpy(bytes, &first, sizeof first);
    if (size < sizeof first)
        size = sizeof first;
    if (send(line, bytes, size < sizeof bytes ? size : sizeof bytes, 0) < 0)
        broken("sending a datagram", errno);
    else
        carried += size;
}

static void hear_all(void)
{
    static char bytes[CHUNK];
    ssize_t got;
    /* Nobody may be there to hear; that is no reason to stop. */
    while ((got = recv(line, bytes, sizeof bytes, 0)) >= 0 || errno == ECONNREFUSED) {
        uint32_t number;
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
        speak(word.line, (size_t)word.first);
    }
    return 1;
}

void run_datagrams(void)
{
    for (;;) {
        struct epoll_event got;
        if (epoll_wait(queue, &got, 1, -1) != 1)
            continue;
        /* What has come is heard before the word to end. */
        hear_all();
        if (got.data.fd == ends || (got.data.fd == words && !obey()))
            return;
    }
}
