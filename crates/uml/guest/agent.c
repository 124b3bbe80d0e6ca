/* Connections on behalf of a workload that runs beside the network: it orders by frames that no program sees what is to
 * be opened, written and closed, and is told in the same way how far every connection has come. Both ends call
 * a connection by the same number, which shows in the port that opens it. */
#include "guest.h"
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Line 0 has the first port, the last line the last one. */
enum { LINES = 65536 - FIRST, BACKLOG = 4096 };

static struct line {
    int fd, opened, closing, shut, over;
    uint64_t wanted, written, received, acknowledged;
} *lines;
static size_t known;
static int words = -1, ear = -1, queue = -1, ends;
/* What an epoll event of a connection carries: its number, beyond the descriptors of the others. */
#define OF_LINE ((uint64_t)1 << 32)

void prepare_agent(void)
{
    struct rlimit most = {.rlim_cur = 65536, .rlim_max = 65536};
    setrlimit(RLIMIT_NOFILE, &most);
    words = hear_driver();
    queue = epoll_create1(0);
    watch(queue, words, EPOLLIN);
    ends = watch_alarm(queue, task.until, 0);
    if (task.sends)
        return;
    struct sockaddr_storage at;
    socklen_t n = place(&at, "", PORT);
    ear = connection();
    if (bind(ear, (struct sockaddr *)&at, n) < 0 || listen(ear, BACKLOG) < 0)
        fail("listening");
    watch(queue, ear, EPOLLIN);
}

static void tell_of(uint32_t what, uint32_t number)
{
    struct word word = {what, number, lines[number].received, lines[number].acknowledged};
    tell_driver(words, &word, sizeof word);
}

static struct line *line(uint32_t number)
{
    if (number >= LINES) {
        errno = EMFILE;
        fail("opening connection %u", number);
    }
    if (number >= known) {
        size_t more = 2 * (size_t)number + 16;
        lines = realloc(lines, more * sizeof *lines);
        if (!lines)
            fail("keeping connections");
        memset(lines + known, 0, (more - known) * sizeof *lines);
        known = more;
    }
    return &lines[number];
}

static void watch_line(int fd, uint32_t number)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u64 = OF_LINE | number};
    epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event);
}

/* What is written leaves at once, as from the model's ends and from most programs that ask and answer. */
static void hurry(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void end_line(struct line *l)
{
    close(l->fd);
    l->over = 1;
}

/* Writes as much as is wanted and goes, and closes when all of it is written. */
static void push(uint32_t number)
{
    static char zeros[CHUNK];
    struct line *l = line(number);
    while (l->opened && !l->over && l->written < l->wanted) {
        uint64_t left = l->wanted - l->written;
        ssize_t wrote = send(l->fd, zeros, left < CHUNK ? left : CHUNK, MSG_NOSIGNAL);
        if (wrote < 0)
            break;
        l->written += (uint64_t)wrote;
        carried += (uint64_t)wrote;
    }
    if (l->opened && !l->over && l->closing && !l->shut && l->written == l->wanted) {
        l->shut = 1;
        shutdown(l->fd, SHUT_WR);
    }
}

static void open_line(uint32_t number)
{
    struct line *l = line(number);
    struct sockaddr_storage from, to;
    socklen_t size = place(&from, own_address(), FIRST + (int)number);
    place(&to, task.peer, PORT);
    l->fd = connection();
    l->opened = 1;
    hurry(l->fd);
    if (bind(l->fd, (struct sockaddr *)&from, size) < 0)
        fail("binding connection %u", number);
    if (connect(l->fd, (struct sockaddr *)&to, size) < 0 && errno != EINPROGRESS)
        fail("connecting");
    watch_line(l->fd, number);
}

static void abort_line(uint32_t number)
{
    struct line *l = line(number);
    struct linger at_once = {.l_onoff = 1};
    if (!l->opened || l->over)
        return;
    setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    end_line(l);
}

static void accept_all(void)
{
    struct sockaddr_storage from;
    socklen_t n = sizeof from;
    for (int fd; (fd = accept4(ear, (struct sockaddr *)&from, &n, SOCK_NONBLOCK)) >= 0; n = sizeof from) {
        uint32_t number = (uint32_t)port_of(&from) - FIRST;
        struct line *l = line(number);
        l->fd = fd;
        l->opened = 1;
        hurry(fd);
        watch_line(fd, number);
    }
}

/* Something has happened to a connection. */
static void attend(uint32_t number)
{
    static char buffer[CHUNK];
    struct line *l = line(number);
    if (l->over)
        return;
    int error = 0, unacknowledged = 0, eof = 0;
    ssize_t got;
    while ((got = read(l->fd, buffer, sizeof buffer)) > 0)
        l->received += (uint64_t)got;
    eof = got == 0;
    if (got < 0 && errno != EAGAIN)
        error = errno;
    push(number);
    if (ioctl(l->fd, SIOCOUTQ, &unacknowledged) == 0 && !error)
        l->acknowledged = l->written - ((uint64_t)unacknowledged < l->written ? (uint64_t)unacknowledged : l->written);
    if (error) {
        /* Refused or reset: the peer gave it up. */
        tell_of(BROKEN, number);
        end_line(l);
        return;
    }
    /* Who has heard that the other end is done, and has nothing to say, is done too. */
    if (eof && !task.sends)
        l->closing = 1;
    push(number);
    tell_of(STANDS, number);
    uint8_t state = look(l->fd, 0).tcpi_state;
    if (eof && l->shut && (state == 6 || state == 7))
        end_line(l);
}

/* Orders; false once nobody waits for more. */
static int obey(void)
{
    struct word word;
    ssize_t got;
    while ((got = recv(words, &word, sizeof word, 0)) > 0) {
        if (got < (ssize_t)sizeof word)
            return 0;
        switch (word.what) {
        case OPEN:
            open_line(word.line);
            break;
        case WRITE:
            line(word.line)->wanted = word.first;
            push(word.line);
            break;
        case CLOSE:
            line(word.line)->closing = 1;
            push(word.line);
            break;
        case ABORT:
            abort_line(word.line);
            break;
        default:
            return 0;
        }
    }
    return 1;
}

void run_agent(void)
{
    for (;;) {
        struct epoll_event got;
        if (epoll_wait(queue, &got, 1, -1) != 1)
            continue;
        if (got.data.u64 & OF_LINE)
            attend((uint32_t)got.data.u64);
        else if (got.data.fd == ear)
            accept_all();
        else if (got.data.fd == ends || !obey())
            return;
    }
}
