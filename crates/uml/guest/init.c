/* What runs in a guest: the one process of a kernel under User-Mode Linux. It reads its task from /task, sets up
 * the network, carries its data, and tells what the kernel says of it in /told, /netstat and /snmp. Lines on the
 * console mark where it stands. It reads the clock as rarely as it can: in virtual time that costs time. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 65536, PORT = 9, SAMPLES = 1 << 20 };

static struct {
    int sends;
    char address[32], peer[32], cc[32];
    int mtu;
    uint64_t start, until, look;
    int64_t bytes; /* -1: without end */
} task = {.mtu = 1500, .bytes = -1};

static struct {
    uint64_t t;
    struct tcp_info info;
} *samples;
static size_t taken;
static uint64_t carried, finished;
static char fault[256];

static void say(const char *what)
{
    char line[300];
    int n = snprintf(line, sizeof line, "williwaw: %s\n", what);
    if (write(1, line, n) != n)
        return;
}

static void rest(void)
{
    for (;;)
        pause();
}

static void __attribute__((format(printf, 1, 2))) fail(const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    int error = errno;
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(fault, sizeof fault, "%.*s: %s", n, text, strerror(error));
    char line[280];
    snprintf(line, sizeof line, "cannot: %s", fault);
    say(line);
    rest();
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct timespec spec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

static void sysctl_set(const char *name, const char *value)
{
    char path[256] = "/proc/sys/";
    size_t at = strlen(path);
    for (; *name && at + 1 < sizeof path; name++)
        path[at++] = *name == '.' ? '/' : *name;
    path[at] = 0;
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, value, strlen(value)) < 0)
        fail("setting %s", path + strlen("/proc/sys/"));
    close(fd);
}

/* One word and its value a line; settings are applied as they come. */
static void read_task(void)
{
    FILE *file = fopen("/task", "r");
    char line[512], value[400], name[120];
    if (!file)
        fail("reading the task");
    while (fgets(line, sizeof line, file)) {
        char *text = strchr(line, ' ');
        line[strcspn(line, "\n")] = 0;
        if (!text)
            continue;
        *text++ = 0;
        if (!strcmp(line, "sends"))
            task.sends = atoi(text);
        else if (!strcmp(line, "address"))
            snprintf(task.address, sizeof task.address, "%s", text);
        else if (!strcmp(line, "peer"))
            snprintf(task.peer, sizeof task.peer, "%s", text);
        else if (!strcmp(line, "cc"))
            snprintf(task.cc, sizeof task.cc, "%s", text);
        else if (!strcmp(line, "mtu"))
            task.mtu = atoi(text);
        else if (!strcmp(line, "start"))
            task.start = strtoull(text, NULL, 10);
        else if (!strcmp(line, "until"))
            task.until = strtoull(text, NULL, 10);
        else if (!strcmp(line, "look"))
            task.look = strtoull(text, NULL, 10);
        else if (!strcmp(line, "bytes"))
            task.bytes = strtoll(text, NULL, 10);
        else if (!strcmp(line, "sysctl") && sscanf(text, "%119s %399[^\n]", name, value) == 2)
            sysctl_set(name, value);
    }
    fclose(file);
}

static void configure(int fd, unsigned long what, struct ifreq *request, const char *name)
{
    if (ioctl(fd, what, request) < 0)
        fail("%s", name);
}

static void interface_up(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq r;
    memset(&r, 0, sizeof r);
    strcpy(r.ifr_name, "lo");
    r.ifr_flags = IFF_UP;
    configure(fd, SIOCSIFFLAGS, &r, "bringing lo up");
    memset(&r, 0, sizeof r);
    strcpy(r.ifr_name, "eth0");
    r.ifr_mtu = task.mtu;
    configure(fd, SIOCSIFMTU, &r, "setting the largest packet");
    struct sockaddr_in *at = (struct sockaddr_in *)&r.ifr_addr;
    memset(at, 0, sizeof *at);
    at->sin_family = AF_INET;
    inet_pton(AF_INET, task.address, &at->sin_addr);
    configure(fd, SIOCSIFADDR, &r, "setting the address");
    inet_pton(AF_INET, "255.255.255.252", &at->sin_addr);
    configure(fd, SIOCSIFNETMASK, &r, "setting the width of the network");
    r.ifr_flags = IFF_UP | IFF_NOARP;
    configure(fd, SIOCSIFFLAGS, &r, "bringing eth0 up");
    close(fd);
}

static struct tcp_info look(int fd, int keep)
{
    struct tcp_info i;
    socklen_t n = sizeof i;
    memset(&i, 0, sizeof i);
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &n);
    if (!keep || taken == SAMPLES)
        return i;
    struct tcp_info *last = taken ? &samples[taken - 1].info : NULL;
    if (last && last->tcpi_snd_cwnd == i.tcpi_snd_cwnd && last->tcpi_snd_ssthresh == i.tcpi_snd_ssthresh &&
        last->tcpi_rto == i.tcpi_rto && last->tcpi_backoff == i.tcpi_backoff &&
        last->tcpi_ca_state == i.tcpi_ca_state && last->tcpi_total_retrans == i.tcpi_total_retrans && keep == 1)
        return i;
    if ((taken & (taken + 1)) == 0) {
        samples = realloc(samples, (2 * taken + 2) * sizeof *samples);
        if (!samples)
            fail("keeping samples");
    }
    samples[taken].t = now();
    samples[taken++].info = i;
    return i;
}

static void copy(const char *from, const char *to)
{
    char buffer[CHUNK];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (ssize_t n; (n = read(in, buffer, sizeof buffer)) > 0;)
        if (write(out, buffer, (size_t)n) != n)
            fail("writing %s", to);
    fsync(out);
    close(in);
    close(out);
}

static void tell(void)
{
    /* Until now nothing is written, not even when a file was read. */
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_NOATIME, NULL) < 0)
        fail("opening the folder for writing");
    FILE *out = fopen("/told", "w");
    if (!out)
        fail("writing what there is to tell");
    if (finished)
        fprintf(out, "finished %llu\n", (unsigned long long)finished);
    fprintf(out, "bytes %llu\n", (unsigned long long)carried);
    if (fault[0])
        fprintf(out, "fault %s\n", fault);
    for (size_t i = 0; i < taken; i++) {
        fprintf(out, "info %llu ", (unsigned long long)samples[i].t);
        for (size_t k = 0; k < sizeof samples[i].info; k++)
            fprintf(out, "%02x", ((unsigned char *)&samples[i].info)[k]);
        fputc('\n', out);
    }
    fflush(out);
    fsync(fileno(out));
    fclose(out);
    copy("/proc/net/netstat", "/netstat");
    copy("/proc/net/snmp", "/snmp");
    say("done");
}

static int watch_alarm(int queue, uint64_t at, uint64_t every)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec when = {.it_value = spec(at), .it_interval = spec(every)};
    struct epoll_event event = {.events = EPOLLIN, .data.fd = timer};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
    epoll_ctl(queue, EPOLL_CTL_ADD, timer, &event);
    return timer;
}

static void sleep_until(uint64_t at)
{
    struct timespec t = spec(at);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static void broken(const char *doing, int error)
{
    snprintf(fault, sizeof fault, "%s: %s", doing, strerror(error));
}

/* The writing end: connects at its time, writes, closes its half, and waits until all of it is acknowledged. */
static void send_all(int fd)
{
    static char zeros[CHUNK];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_pton(AF_INET, task.peer, &to.sin_addr);
    sleep_until(task.start);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
        return broken("connecting", errno);
    int queue = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = fd};
    epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event);
    int end = watch_alarm(queue, task.until, 0);
    int looks = task.look ? watch_alarm(queue, task.start + task.look, task.look) : -1;
    int64_t left = task.bytes;
    int closed = 0;
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
        int error = 0;
        socklen_t n = sizeof error;
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
        if (error) {
            broken("writing", error);
            break;
        }
        while (left != 0) {
            size_t most = left < 0 || left > CHUNK ? CHUNK : (size_t)left;
            ssize_t wrote = send(fd, zeros, most, MSG_NOSIGNAL);
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
            shutdown(fd, SHUT_WR);
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
    look(fd, 2);
}

/* The reading end: takes what comes until the other end closes or time is up. */
static void receive_all(int ear)
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
        if (n == 0)
            return;
        if (n < 0 && errno == EAGAIN)
            continue;
        if (n < 0)
            return broken("reading", errno);
        carried += (uint64_t)n;
        if (!finished && task.bytes >= 0 && carried >= (uint64_t)task.bytes)
            finished = now();
    }
}

int main(void)
{
    if (mount("proc", "/proc", "proc", 0, NULL) < 0)
        fail("mounting /proc");
    /* No packets but those of the task. */
    if (access("/proc/sys/net/ipv6", F_OK) == 0) {
        sysctl_set("net.ipv6.conf.all.disable_ipv6", "1");
        sysctl_set("net.ipv6.conf.default.disable_ipv6", "1");
    }
    read_task();
    interface_up();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (task.cc[0] && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, task.cc, (socklen_t)strlen(task.cc)) < 0)
        fail("using the congestion control %s", task.cc);
    if (!task.sends) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
        if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 1) < 0)
            fail("listening");
    }
    say("ready");
    if (task.sends)
        send_all(fd);
    else
        receive_all(fd);
    tell();
    rest();
}
