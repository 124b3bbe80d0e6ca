/* Programs of the user's, each at its time, in a root of their own: a folder of the host, read-only, under a file
 * system in memory that takes what they write. Ends all of them when it is told to, by a frame that no program
 * sees. */
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long a server may take to listen, all of them together; a look at it takes place so often. */
enum { LISTEN = 1000, EVERY = 10 };
/* Who is told to end has so long. */
#define PATIENCE 500000000u

static int waiting = -1; /* where the word to end arrives */

static void make(const char *path)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        fail("making %s", path);
}

/* Some kernels lack a file system that few programs need. */
static void mount_if_there(const char *kind, const char *where, const char *options)
{
    if (mkdir(where, 0755) < 0 && errno != EEXIST)
        return;
    if (mount(kind, where, kind, 0, options) < 0 && errno != ENODEV)
        fail("mounting %s", where);
}

/* Lays a file over what the root has there. */
static void lay(const char *from, const char *to)
{
    unlink(to);
    copy(from, to);
    chmod(to, 0644);
}

static void make_root(void)
{
    if (mount("memory", "/over", "tmpfs", 0, "size=75%") < 0)
        fail("mounting a file system in memory");
    make("/over/up");
    make("/over/work");
    make("/over/out");
    if (mount("host", "/host", "hostfs", MS_RDONLY, task.root) < 0)
        fail("mounting the root %s", task.root);
    if (mount("root", "/whole", "overlay", 0, "lowerdir=/host,upperdir=/over/up,workdir=/over/work") < 0)
        fail("laying a file system that can be written over the root (this kernel needs CONFIG_OVERLAY_FS)");
    make("/whole/etc");
    make("/whole/dev");
    mount_if_there("proc", "/whole/proc", NULL);
    mount_if_there("sysfs", "/whole/sys", NULL);
    mount_if_there("devtmpfs", "/whole/dev", NULL);
    mount_if_there("devpts", "/whole/dev/pts", "ptmxmode=0666");
    mount_if_there("tmpfs", "/whole/dev/shm", NULL);
    symlink("/proc/self/fd", "/whole/dev/fd");
    symlink("/proc/self/fd/0", "/whole/dev/stdin");
    symlink("/proc/self/fd/1", "/whole/dev/stdout");
    symlink("/proc/self/fd/2", "/whole/dev/stderr");
    lay("/hosts", "/whole/etc/hosts");
    lay("/resolver", "/whole/etc/resolv.conf");
    sethostname(task.host, strlen(task.host));
}

static int opened(size_t n, const char *end)
{
    char path[64];
    snprintf(path, sizeof path, "/over/out/%zu.%s", n, end);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    if (fd < 0)
        fail("opening %s", path);
    return fd;
}

static void start(size_t n)
{
    struct command *c = &task.commands[n];
    static char text[1 << 17];
    char path[64];
    snprintf(path, sizeof path, "/command.%zu", n);
    int in = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = in < 0 ? -1 : read(in, text, sizeof text - 1);
    if (length < 0)
        fail("reading %s", path);
    close(in);
    text[length] = 0;
    int out = opened(n, "stdout"), err = opened(n, "stderr");
    c->begun = now();
    c->pid = fork();
    if (c->pid < 0)
        fail("starting a process");
    if (c->pid == 0) {
        char *words[] = {"/bin/sh", "-c", text, NULL};
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid();
        dup2(out, 1);
        dup2(err, 2);
        if (chroot("/whole") < 0 || (chdir(task.folder) < 0 && chdir("/") < 0))
            _exit(126);
        close(0);
        open("/dev/null", O_RDONLY);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        task.variables[task.n_variables] = NULL;
        execve("/bin/sh", words, task.variables);
        dprintf(2, "/bin/sh: %s\n", strerror(errno));
        _exit(errno == ENOENT ? 127 : 126);
    }
    close(out);
    close(err);
}

/* Takes note of all that have ended. */
static void reap(void)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (size_t i = 0; i < task.n_commands; i++)
            if (task.commands[i].pid == pid) {
                task.commands[i].ended = now();
                task.commands[i].status = status;
                task.commands[i].pid = 0;
            }
}

/* Sockets that somebody listens at, or to which datagrams may come. */
static int listening(void)
{
    static const char *const tables[][2] = {{"tcp", "0A"}, {"tcp6", "0A"}, {"udp", "07"}, {"udp6", "07"}};
    char path[32], line[512], state[8];
    int count = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(path, sizeof path, "/proc/net/%s", tables[i][0]);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file))
            count += sscanf(line, "%*s %*s %*s %7s", state) == 1 && !strcmp(state, tables[i][1]);
        if (file)
            fclose(file);
    }
    return count;
}

void prepare_commands(void)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    waiting = hear_driver();
    if (!task.n_commands)
        return;
    make_root();
    /* Not even a look for what is not there: chance would be another afterwards. */
    if (task.calls)
        prepare_calls(waiting);
    int left = LISTEN / EVERY;
    for (size_t i = 0; i < task.n_commands; i++) {
        struct command *c = &task.commands[i];
        if (!c->serves || c->start > ORIGIN)
            continue;
        int before = listening();
        start(i);
        /* It has not begun before the run has. */
        c->begun = ORIGIN;
        while (listening() <= before && c->pid && left-- > 0) {
            struct timespec t = {.tv_nsec = EVERY * 1000000};
            nanosleep(&t, NULL);
            reap();
        }
        if (c->pid && listening() <= before)
            c->lacks = "it does not listen before the run starts";
    }
}

/* What whoever drives this kernel says: true if all is to end. */
static int told_to_end(void)
{
    struct word word;
    ssize_t n;
    while ((n = recv(waiting, &word, sizeof word, 0)) > 0) {
        if (n < (ssize_t)sizeof word || word.what != CALLED)
            return 1;
        called(&word);
    }
    return 0;
}

static int busy(void)
{
    int n = 0;
    for (size_t i = 0; i < task.n_commands; i++) {
        struct command *c = &task.commands[i];
        n += !c->serves && !c->ended;
    }
    return n;
}

/* Ends whoever is left, politely first. */
static void end_all(void)
{
    struct timespec a_moment = {.tv_nsec = EVERY * 1000000};
    kill(-1, SIGTERM);
    for (uint64_t waited = 0; waited < PATIENCE; waited += EVERY * 1000000u) {
        if (waitpid(-1, NULL, WNOHANG) < 0)
            return;
        nanosleep(&a_moment, NULL);
    }
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

int prepare_program(void)
{
    waiting = hear_driver();
    make_root();
    return waiting;
}

void start_program(size_t n)
{
    start(n);
}

/* The last line that program 0 has written to its standard error. */
const char *program_error(void)
{
    static char text[200];
    FILE *file = fopen("/over/out/0.stderr", "r");
    while (file && fgets(text, sizeof text, file))
        text[strcspn(text, "\n")] = 0;
    if (file)
        fclose(file);
    return text;
}

void end_programs(void)
{
    end_all();
}

void run_commands(void)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    int queue = epoll_create1(EPOLL_CLOEXEC), deaths = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    watch(queue, deaths, EPOLLIN);
    watch(queue, waiting, EPOLLIN);
    watch_calls(queue);
    int end = watch_alarm(queue, task.until, 0), alarms[COMMANDS];
    for (size_t i = 0; i < task.n_commands; i++)
        alarms[i] = task.commands[i].begun ? -1 : watch_alarm(queue, task.commands[i].start, 0);
    if (!busy())
        tell_driver(waiting, "idle", 4);
    for (;;) {
        struct epoll_event got;
        struct signalfd_siginfo death;
        if (epoll_wait(queue, &got, 1, -1) != 1)
            continue;
        if (got.data.fd == end || (got.data.fd == waiting && told_to_end()))
            break;
        if (got.data.fd == waiting || attend_calls(got.data.fd))
            continue;
        if (got.data.fd == deaths) {
            int before = busy();
            while (read(deaths, &death, sizeof death) == sizeof death)
                ;
            reap();
            if (before && !busy())
                tell_driver(waiting, "idle", 4);
            continue;
        }
        for (size_t i = 0; i < task.n_commands; i++)
            if (got.data.fd == alarms[i]) {
                close(alarms[i]);
                alarms[i] = -1;
                start(i);
                break;
            }
    }
    finished = busy() ? 0 : now();
    end_calls();
    end_all();
}
