/* What runs in a guest: the one process of a kernel under User-Mode Linux. It reads its task from /task, sets up
 * the network, carries its data, and tells what the kernel says of it in /told, /netstat, /snmp and
 * /snmp6. Lines on the console mark where it stands. It reads the clock as rarely as it can: in virtual time that costs time. */
#include "guest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 1 << 20 };

struct task task = {.work = "bulk", .width = 30, .mtu = 1500, .protocol = IPPROTO_TCP, .bytes = -1};

static struct {
    uint64_t t;
    struct tcp_info info;
} *samples;
static size_t taken;
uint64_t carried, finished;
static char fault[256];

void say(const char *what)
{
    char line[300];
    int n = snprintf(line, sizeof line, "williwaw: %s\n", what);
    if (write(1, line, n) != n)
        return;
}

static void __attribute__((noreturn)) rest(void)
{
    for (;;)
        pause();
}

void fail(const char *format, ...)
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

uint64_t now(void)
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

static void text_of(char *to, size_t size, const char *value)
{
    if (snprintf(to, size, "%s", value) >= (int)size) {
        errno = ENAMETOOLONG;
        fail("reading the task");
    }
}

/* One word and its value a line; settings are applied as they come. */
static void read_task(void)
{
    FILE *file = fopen("/task", "r");
    static char line[8192];
    char value[400], name[120];
    if (!file)
        fail("reading the task");
    const struct {
        const char *word;
        char *to;
        size_t size;
    } texts[] = {
        {"work", task.work, sizeof task.work},          {"address", task.address, sizeof task.address},
        {"peer", task.peer, sizeof task.peer},          {"address6", task.address6, sizeof task.address6},
        {"cc", task.cc, sizeof task.cc},                {"root", task.root, sizeof task.root},
        {"folder", task.folder, sizeof task.folder},    {"host", task.host, sizeof task.host},
    };
    while (fgets(line, sizeof line, file)) {
        char *text = strchr(line, ' ');
        line[strcspn(line, "\n")] = 0;
        if (!text)
            continue;
        *text++ = 0;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            if (!strcmp(line, texts[i].word))
                text_of(texts[i].to, texts[i].size, text);
        if (!strcmp(line, "sends"))
            task.sends = atoi(text);
        else if (!strcmp(line, "slowly"))
            task.slowly = atoi(text);
        else if (!strcmp(line, "width"))
            task.width = atoi(text);
        else if (!strcmp(line, "protocol"))
            task.protocol = atoi(text);
        else if (!strcmp(line, "mtu"))
            task.mtu = atoi(text);
        else if (!strcmp(line, "ccid"))
            task.ccid = atoi(text);
        else if (!strcmp(line, "payload"))
            task.payload = atoi(text);
        else if (!strcmp(line, "calls"))
            task.calls = atoi(text);
        else if (!strcmp(line, "start"))
            task.start = strtoull(text, NULL, 10);
        else if (!strcmp(line, "until"))
            task.until = strtoull(text, NULL, 10);
        else if (!strcmp(line, "look"))
            task.look = strtoull(text, NULL, 10);
        else if (!strcmp(line, "bytes"))
            task.bytes = strtoll(text, NULL, 10);
        else if (!strcmp(line, "variable") && task.n_variables + 1 < sizeof task.variables / sizeof *task.variables)
            task.variables[task.n_variables++] = strdup(text);
        else if (!strcmp(line, "other") && task.n_others < OTHERS)
            text_of(task.others[task.n_others++], sizeof *task.others, text);
        else if (!strcmp(line, "command") && task.n_commands < COMMANDS) {
            struct command *c = &task.commands[task.n_commands++];
            c->start = strtoull(text, &text, 10);
            c->serves = atoi(text);
        } else if (!strcmp(line, "sysctl") && sscanf(text, "%119s %399[^\n]", name, value) == 2)
            sysctl_set(name, value);
    }
    fclose(file);
}

static void configure(int fd, unsigned long what, struct ifreq *request, const char *name)
{
    if (ioctl(fd, what, request) < 0)
        fail("%s", name);
}

/* An address of version 6, in a network of 64 bits. */
static void address6(void)
{
    struct {
        struct in6_addr address;
        uint32_t width;
        int interface;
    } what = {.width = 64, .interface = (int)if_nametoindex("eth0")};
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    inet_pton(AF_INET6, task.address6, &what.address);
    if (fd < 0 || ioctl(fd, SIOCSIFADDR, &what) < 0)
        fail("setting the address of version 6");
    /* A moment passes until it may be used; programs do not start in that. */
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = what.address};
    uint64_t until = now() + ORIGIN / 4;
    while (strchr(task.peer, ':') && bind(fd, (struct sockaddr *)&at, sizeof at) < 0) {
        if (errno != EADDRNOTAVAIL || now() > until)
            fail("using the address of version 6");
        sleep_until(now() + 10000000u);
    }
    close(fd);
}

/* An address of version 4 at a label of the interface, and the width of its network. */
static void address4(int fd, struct ifreq *r, const char *name, const char *address)
{
    struct sockaddr_in *at = (struct sockaddr_in *)&r->ifr_addr;
    snprintf(r->ifr_name, sizeof r->ifr_name, "%s", name);
    memset(at, 0, sizeof *at);
    at->sin_family = AF_INET;
    inet_pton(AF_INET, address, &at->sin_addr);
    configure(fd, SIOCSIFADDR, r, "setting the address");
    at->sin_addr.s_addr = htonl(~0u << (32 - task.width));
    configure(fd, SIOCSIFNETMASK, r, "setting the width of the network");
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
    address4(fd, &r, "eth0", task.address);
    r.ifr_flags = IFF_UP | IFF_NOARP;
    configure(fd, SIOCSIFFLAGS, &r, "bringing eth0 up");
    for (int i = 0; i < task.n_others; i++) {
        char label[IFNAMSIZ];
        snprintf(label, sizeof label, "eth0:%d", i + 1);
        address4(fd, &r, label, task.others[i]);
    }
    close(fd);
    if (task.address6[0])
        address6();
}

struct tcp_info look(int fd, int keep)
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

void copy(const char *from, const char *to)
{
    static char buffer[CHUNK];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0)
        fail("writing %s", to);
    for (ssize_t n; (n = read(in, buffer, sizeof buffer)) > 0;)
        if (write(out, buffer, (size_t)n) != n)
            fail("writing %s", to);
    fsync(out);
    close(in);
    close(out);
}

static void tell_command(FILE *out, size_t n)
{
    struct command *c = &task.commands[n];
    char from[64], to[64];
    if (!c->begun)
        return;
    fprintf(out, "begun %zu %llu\n", n, (unsigned long long)c->begun);
    if (c->ended) {
        int signal = WIFSIGNALED(c->status) ? WTERMSIG(c->status) : 0;
        int code = signal ? 128 + signal : WEXITSTATUS(c->status);
        fprintf(out, "ended %zu %llu %d %d\n", n, (unsigned long long)c->ended, code, signal);
    }
    if (c->lacks)
        fprintf(out, "lacks %zu %s\n", n, c->lacks);
    const char *const ends[] = {"stdout", "stderr"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "/over/out/%zu.%s", n, ends[i]);
        snprintf(to, sizeof to, "/%zu.%s", n, ends[i]);
        copy(from, to);
    }
}

/* The counters of SCTP stand one a line; here they follow the others in their form. */
static void tell_sctp(void)
{
    FILE *in = fopen("/proc/net/sctp/snmp", "r"), *out = in ? fopen("/snmp", "a") : NULL;
    char names[4096] = "Sctp:", values[4096] = "Sctp:", name[64], value[32];
    while (in && fscanf(in, "%63s %31s", name, value) == 2) {
        /* Their names begin with the protocol's. */
        size_t n = strlen(names), v = strlen(values);
        snprintf(names + n, sizeof names - n, " %s", strncmp(name, "Sctp", 4) ? name : name + 4);
        snprintf(values + v, sizeof values - v, " %s", value);
    }
    if (out) {
        fprintf(out, "%s\n%s\n", names, values);
        fflush(out);
        fsync(fileno(out));
        fclose(out);
    }
    if (in)
        fclose(in);
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
    for (size_t i = 0; i < task.n_commands; i++)
        tell_command(out, i);
    fflush(out);
    fsync(fileno(out));
    fclose(out);
    copy("/proc/net/netstat", "/netstat");
    copy("/proc/net/snmp", "/snmp");
    copy("/proc/net/snmp6", "/snmp6");
    tell_sctp();
    say("done");
}

void broken(const char *doing, int error)
{
    snprintf(fault, sizeof fault, "%s: %s", doing, strerror(error));
}

int watch(int queue, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u64 = (uint32_t)fd};
    return epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event);
}

int watch_alarm(int queue, uint64_t at, uint64_t every)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct itimerspec when = {.it_value = spec(at), .it_interval = spec(every)};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
    watch(queue, timer, EPOLLIN);
    return timer;
}

void sleep_until(uint64_t at)
{
    struct timespec t = spec(at);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* Tells whoever drives this kernel something at this very instant; a line on the console has no time. */
void tell_driver(int fd, const void *word, size_t size)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(WORDS), .sll_halen = 6};
    to.sll_ifindex = (int)if_nametoindex("eth0");
    memset(to.sll_addr, 0xff, 6);
    if (sendto(fd, word, size, 0, (struct sockaddr *)&to, sizeof to) < 0)
        fail("speaking with the driver");
}

/* Listens to it. */
int hear_driver(void)
{
    int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(WORDS));
    if (fd < 0)
        fail("listening to the driver");
    return fd;
}

socklen_t place(struct sockaddr_storage *at, const char *text, int port)
{
    memset(at, 0, sizeof *at);
    if (strchr(task.peer, ':')) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)at;
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        inet_pton(AF_INET6, text, &six->sin6_addr);
        return sizeof *six;
    }
    struct sockaddr_in *four = (struct sockaddr_in *)at;
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)port);
    inet_pton(AF_INET, text, &four->sin_addr);
    return sizeof *four;
}

int port_of(const struct sockaddr_storage *at)
{
    if (at->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)at)->sin6_port);
    return ntohs(((const struct sockaddr_in *)at)->sin_port);
}

const char *own_address(void)
{
    return strchr(task.peer, ':') ? task.address6 : task.address;
}

/* Options of DCCP sockets (Linux, include/uapi/linux/dccp.h), and the service code of all flows here (RFC 5595). */
enum { DCCP_SERVICE = 2, DCCP_CCID = 13, SERVICE = 0x57494c4c };

int connection(void)
{
    int family = strchr(task.peer, ':') ? AF_INET6 : AF_INET, dccp = task.protocol == IPPROTO_DCCP;
    int kind = dccp ? SOCK_DCCP : SOCK_STREAM;
    int fd = socket(family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, task.protocol);
    if (fd < 0 && dccp)
        fail("making a socket of DCCP (the kernel needs CONFIG_IP_DCCP: williwaw linux build makes one)");
    if (fd < 0)
        fail("making a socket of protocol %d", task.protocol);
    if (dccp) {
        uint32_t service = htonl(SERVICE);
        uint8_t ccid = (uint8_t)task.ccid;
        if (setsockopt(fd, SOL_DCCP, DCCP_SERVICE, &service, sizeof service) < 0 ||
            setsockopt(fd, SOL_DCCP, DCCP_CCID, &ccid, sizeof ccid) < 0)
            fail("using the congestion control %d of DCCP", task.ccid);
        return fd;
    }
    if (task.cc[0] && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, task.cc, (socklen_t)strlen(task.cc)) < 0)
        fail("using the congestion control %s", task.cc);
    return fd;
}

int is_flushed(int fd)
{
    int waits = 0;
    return ioctl(fd, SIOCOUTQ, &waits) < 0 || waits == 0;
}

static void bulk(void)
{
    int fd = connection(), words = task.slowly ? hear_driver() : -1;
    if (!task.sends) {
        struct sockaddr_storage at;
        socklen_t n = place(&at, "", PORT);
        if (bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, 1) < 0)
            fail("listening");
    }
    say("ready");
    if (task.sends)
        send_all(fd);
    else if (task.slowly)
        receive_slowly(fd, words);
    else
        receive_all(fd);
}

int main(int argc, char **argv)
{
    if (getpid() != 1)
        return call(argc, argv);
    if (mount("proc", "/proc", "proc", 0, NULL) < 0)
        fail("mounting /proc");
    /* No packets but those of the task. */
    int six = access("/proc/sys/net/ipv6", F_OK) == 0;
    if (six) {
        sysctl_set("net.ipv6.conf.all.disable_ipv6", "1");
        sysctl_set("net.ipv6.conf.default.disable_ipv6", "1");
    }
    read_task();
    if (!six && strchr(task.peer, ':')) {
        errno = EAFNOSUPPORT;
        fail("speaking version 6 of IP (this kernel needs CONFIG_IPV6)");
    }
    if (!six)
        task.address6[0] = 0;
    if (task.address6[0]) {
        /* Its one address is given; it need not look for others. */
        sysctl_set("net.ipv6.conf.eth0.addr_gen_mode", "1");
        sysctl_set("net.ipv6.conf.eth0.accept_ra", "0");
        sysctl_set("net.ipv6.conf.eth0.router_solicitations", "0");
        sysctl_set("net.ipv6.conf.all.disable_ipv6", "0");
        sysctl_set("net.ipv6.conf.default.disable_ipv6", "0");
    }
    interface_up();
    if (!strcmp(task.work, "commands")) {
        prepare_commands();
        say("ready");
        run_commands();
    } else if (!strcmp(task.work, "pcu")) {
        prepare_pcu();
        say("ready");
        run_pcu();
    } else if (!strcmp(task.work, "lines")) {
        prepare_agent();
        say("ready");
        run_agent();
    } else if (!strcmp(task.work, "datagrams")) {
        prepare_datagrams();
        say("ready");
        run_datagrams();
    } else
        bulk();
    tell();
    rest();
}
