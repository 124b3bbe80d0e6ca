/* A PCU that is a program, between whoever drives this kernel and the sockets that the program knows: that of a base station, and
 * an SGSN's on loopback. Messages pass in frames that no program sees, behind a word that says which socket and how many bytes. */
#include "guest.h"
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Where the program finds its base station; its configuration names the place. */
#define PLACE "/whole/tmp/williwaw-pcu"
/* The SGSN's UDP port, and the longest message. */
enum { SGSN = 23000, LONGEST = 1400 };
/* How long the program may take to connect, ms. */
#define CONNECT 1500

struct message {
    uint32_t what, length;
    unsigned char bytes[LONGEST];
};

static int words = -1, station = -1, sgsn = -1, queue = -1;

void prepare_pcu(void)
{
    words = prepare_program();
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = PLACE};
    mkdir("/whole/tmp", 0777);
    unlink(PLACE);
    int ear = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (ear < 0 || bind(ear, (struct sockaddr *)&at, sizeof at) < 0 || listen(ear, 1) < 0)
        fail("listening as a base station");
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(SGSN)};
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sgsn = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (sgsn < 0 || bind(sgsn, (struct sockaddr *)&from, sizeof from) < 0)
        fail("listening as an SGSN");
    start_program(0);
    queue = epoll_create1(EPOLL_CLOEXEC);
    watch(queue, ear, EPOLLIN);
    struct epoll_event got;
    if (epoll_wait(queue, &got, 1, CONNECT) != 1 || (station = accept4(ear, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0)
        fail("waiting for the PCU to connect (%s)", program_error());
    epoll_ctl(queue, EPOLL_CTL_DEL, ear, NULL);
    close(ear);
    watch(queue, station, EPOLLIN);
    watch(queue, sgsn, EPOLLIN);
    watch(queue, words, EPOLLIN);
}

/* A message of the program's goes to the driver. */
static int pass_on(uint32_t what, int fd)
{
    struct message m = {.what = what};
    struct sockaddr_storage from;
    socklen_t n = sizeof from;
    ssize_t got = what == GB ? recvfrom(fd, m.bytes, LONGEST, 0, (struct sockaddr *)&from, &n) : recv(fd, m.bytes, LONGEST, 0);
    if (got <= 0)
        return 0;
    /* The SGSN answers whoever has spoken. */
    if (what == GB)
        connect(fd, (struct sockaddr *)&from, n);
    m.length = (uint32_t)got;
    tell_driver(words, &m, offsetof(struct message, bytes) + (size_t)got);
    return 1;
}

/* Messages of the driver's go to the program; false once nobody waits for more. */
static int obey(void)
{
    struct message m;
    ssize_t got;
    while ((got = recv(words, &m, sizeof m, 0)) > 0) {
        if (got < (ssize_t)offsetof(struct message, bytes) || m.length > LONGEST)
            return 0;
        if (m.what == GB)
            send(sgsn, m.bytes, m.length, 0);
        else if (m.what == STATION)
            send(station, m.bytes, m.length, MSG_NOSIGNAL);
        else
            return 0;
    }
    return 1;
}

void run_pcu(void)
{
    int end = watch_alarm(queue, task.until, 0);
    tell_driver(words, "idle", 4);
    for (;;) {
        struct epoll_event got;
        if (epoll_wait(queue, &got, 1, -1) != 1)
            continue;
        if (got.data.fd == end || (got.data.fd == words && !obey()))
            break;
        if (got.data.fd == station) {
            int some = 0;
            while (pass_on(STATION, station))
                some = 1;
            if (!some)
                fail("the PCU has ended (%s)", program_error());
        } else if (got.data.fd == sgsn)
            while (pass_on(GB, sgsn))
                ;
    }
    finished = now();
    end_programs();
}
