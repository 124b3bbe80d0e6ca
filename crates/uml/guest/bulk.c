/* Bulk data over one connection: the writing end, and the reading end, which takes what comes or what it is told to. */
#include "guest.h"
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Sockets that are not TCP's do not tell of the end of what they sent; they are looked at so often, nanoseconds. */
#define TICK 10000000u
/* Of an association of SCTP: how it stands (RFC 6458 section 8.2.1). */
enum { SCTP_STATUS = 14 };

/* Whether the other end has everything and has closed too. */
static int is_over(int fd)
{
    char nothing, status[512];
    socklen_t n = sizeof status;
    memset(status, 0, sizeof status);
    if (task.protocol == IPPROTO_SCTP)
        return getsockopt(fd, IPPROTO_SCTP, SCTP_STATUS, status, &n) < 0;
    /* Of DCCP nothing is sent again: it is over when all has left. */
    if (task.protocol == IPPROTO_DCCP)
        return is_flushed(fd) && close(fd) == 0;
    ssize_t got = read(fd, &nothing, 1);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

/* The writing end: connects at its time, writes, closes its half, and waits until all of it is acknowledged. */
void send_all(int fd)
{
    static char zeros[CHUNK];
    struct sockaddr_storage to;
    socklen_t size = place(&to, task.peer, PORT);
    sleep_until(task.start);
    if (connect(fd, (struct sockaddr *)&to, size) < 0 && errno != EINPROGRESS)
        return broken("connecting", errno);
    int queue = epoll_create1(0);
    /* A write to a full queue of DCCP frees a buffer, of which EPOLLOUT tells at once, for ever: its queue is looked at. */
    uint32_t room = task.protocol == IPPROTO_DCCP ? 0 : EPOLLOUT;
    struct epoll_event event = {.events = EPOLLIN | room | EPOLLRDHUP | EPOLLET, .data.fd = fd};
    epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event);
    int end = watch_alarm(queue, task.until, 0);
    int looks = task.look ? watch_alarm(queue, task.start + task.look, task.look) : -1;
    int64_t left = task.bytes;
    int closed = 0, ticks = -1, dccp = task.protocol == IPPROTO_DCCP;
    int64_t most = dccp && task.payload < CHUNK ? task.payload : CHUNK;
    if (dccp)
        ticks = watch_alarm(queue, task.start + DCCP_TICK, DCCP_TICK);
    for (;;) {
        struct epoll_event got;
        if (epoll_wait(queue, &got, 1, -1) != 1)
            continue;
        if (got.data.fd == end)
            break;
        if (got.data.fd == looks) {
            uint64_t times;
            if (read(looks, &times, sizeof times) == sizeof times)
                look(fd, 1);
            continue;
        }
        uint64_t times;
        if (got.data.fd == ticks && read(ticks, &times, sizeof times) != sizeof times)
            continue;
        int error = 0;
        socklen_t n = sizeof error;
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
        if (error) {
            broken("writing", error);
            break;
        }
        while (left != 0) {
            size_t size = (size_t)(left < 0 || left > most ? most : left);
            ssize_t wrote = send(fd, zeros, size, MSG_NOSIGNAL);
            if (wrote < 0)
                break;
            carried += (uint64_t)wrote;
            if (left > 0)
                left -= wrote;
        }
        if (left != 0)
            continue;
        if (!closed) {
            closed = 1;
            if (!dccp)
                shutdown(fd, SHUT_WR);
            if (task.protocol != IPPROTO_TCP && !dccp)
                ticks = watch_alarm(queue, now() + TICK, TICK);
        }
        if (task.protocol != IPPROTO_TCP) {
            if (is_over(fd)) {
                finished = now();
                break;
            }
            continue;
        }
        /* The socket tells of every change of its state: its FIN was acknowledged, and all before it. */
        uint8_t state = look(fd, 0).tcpi_state;
        if (state == 5 || state == 6 || state == 7) {
            finished = now();
            break;
        }
    }
    if (!finished && task.bytes < 0)
        finished = now();
    if (dccp)
        return;
    look(fd, 2);
}

/* The reading end: takes what comes until the other end closes or time is up. */
void receive_all(int ear)
{
    static char buffer[CHUNK];
    int queue = epoll_create1(0), fd = -1;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = ear};
    epoll_ctl(queue, EPOLL_CTL_ADD, ear, &event);
    int end = watch_alarm(queue, task.until, 0);
    for (;;) {
        struct epoll_event got;
        if (epoll_wait(queue, &got, 1, -1) != 1)
            continue;
        if (got.data.fd == end)
            return;
        if (got.data.fd == ear && fd < 0) {
            fd = accept4(ear, NULL, NULL, SOCK_NONBLOCK);
            event.data.fd = fd;
            epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event);
            continue;
        }
        ssize_t n = read(fd, buffer, sizeof buffer);
        if (n == 0) {
            if (task.protocol != IPPROTO_TCP)
                close(fd);
            /* Of DCCP not all that was written comes. */
            if (!finished && task.protocol == IPPROTO_DCCP)
                finished = now();
            return;
        }
        if (n < 0 && errno == EAGAIN)
            continue;
        if (n < 0)
            return broken("reading", errno);
        carried += (uint64_t)n;
        if (!finished && task.bytes >= 0 && carried >= (uint64_t)task.bytes)
            finished = now();
    }
}

/* The reading end of an application that does not take everything at once. It runs beside the network: it is told how
 * much has come, read or not, and orders how much is read. The rest lies in the kernel's buffer and closes its window. */
void receive_slowly(int ear, int words)
{
    static char buffer[CHUNK];
    int queue = epoll_create1(0), fd = -1, whole = 1;
    uint64_t may = 0, told = 0;
    watch(queue, ear, EPOLLIN);
    watch(queue, words, EPOLLIN);
    int end = watch_alarm(queue, task.until, 0);
    for (;;) {
        struct epoll_event got;
        if (epoll_wait(queue, &got, 1, -1) != 1)
            continue;
        if (got.data.fd == end)
            return;
        if (got.data.fd == ear) {
            int other = accept4(ear, NULL, NULL, SOCK_NONBLOCK);
            if (other < 0 || fd >= 0)
                continue;
            fd = other;
            watch(queue, fd, EPOLLIN | EPOLLRDHUP | EPOLLET);
        }
        struct word word;
        ssize_t n;
        while ((n = recv(words, &word, sizeof word, 0)) > 0) {
            if (n < (ssize_t)sizeof word || word.what != READ)
                return;
            may = word.first;
        }
        while (fd >= 0 && whole && carried < may) {
            uint64_t left = may - carried;
            n = read(fd, buffer, left < CHUNK ? left : CHUNK);
            if (n < 0 && errno != EAGAIN) {
                broken("reading", errno);
                whole = 0;
            }
            if (n <= 0)
                break;
            carried += (uint64_t)n;
        }
        int waits = 0;
        if (fd < 0 || !whole || ioctl(fd, FIONREAD, &waits) < 0 || carried + (uint64_t)waits <= told)
            continue;
        told = carried + (uint64_t)waits;
        struct word stands = {.what = STANDS, .first = told};
        tell_driver(words, &stands, sizeof stands);
    }
}
