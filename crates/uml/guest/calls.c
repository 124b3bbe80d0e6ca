/* How do programs call a name of the scenario? By `williwaw trigger`, as in real time: it speaks with the first process over a
 * socket that has a name but no file, a line to ask and a line of JSON to answer. The first process tells whoever drives this
 * kernel at that instant, and hears when it was done. This file has both ends. */
#include "guest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Programs that ask at once; names that there are; bytes of a line. */
enum { CALLERS = 256, NAMES = 65536, LINE = 512 };
/* What the run is called here, and who carries it: the first process. */
#define RUN "run"
#define PROCESS 1
/* Where programs find the tool, the first place of their PATH that is for programs of a machine's own. */
static const char *const places[] = {"/whole/usr", "/whole/usr/local", "/whole/usr/local/bin"};
#define TOOL "/whole/usr/local/bin/williwaw"

static char *names[NAMES];
static size_t n_names;
static int queue = -1, ear = -1, driver = -1;
static uint32_t calls;

static struct caller {
    int open, fd;
    uint32_t number; /* of the call that it waits for; 0: it has not said all */
    size_t has;
    char line[LINE];
} callers[CALLERS];

static socklen_t address(struct sockaddr_un *at)
{
    memset(at, 0, sizeof *at);
    at->sun_family = AF_UNIX;
    int n = snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "williwaw/%s/%d", RUN, PROCESS);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

void prepare_calls(int words)
{
    FILE *file = fopen("/triggers", "r");
    static char line[LINE];
    if (!file)
        fail("reading the names that can be called");
    while (n_names < NAMES && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        names[n_names++] = strdup(line);
    }
    fclose(file);
    struct sockaddr_un at;
    socklen_t n = address(&at);
    ear = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (ear < 0 || bind(ear, (struct sockaddr *)&at, n) < 0 || listen(ear, CALLERS) < 0)
        fail("listening for triggers");
    driver = words;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        mkdir(places[i], 0755);
    unlink(TOOL);
    copy("/init", TOOL);
    chmod(TOOL, 0755);
}

void watch_calls(int on)
{
    queue = on;
    if (ear >= 0)
        watch(queue, ear, EPOLLIN);
}

static void hang_up(struct caller *c)
{
    close(c->fd);
    c->open = 0;
}

/* What is told: when it was done (nanoseconds of the network; all ones: not at all), and the names. */
static void answer(struct caller *c, uint64_t at)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        fail("answering a trigger");
    if (at == UINT64_MAX)
        fputs("{\"at_s\":null", out);
    else
        fprintf(out, "{\"at_s\":%llu.%09llu", (unsigned long long)at / 1000000000u, (unsigned long long)at % 1000000000u);
    fputs(",\"names\":[", out);
    for (size_t i = 0; i < n_names; i++)
        fprintf(out, "%s\"%s\"", i ? "," : "", names[i]);
    fputs("]}\n", out);
    fclose(out);
    /* Who hung up gets no answer. */
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send(c->fd, text + sent, size - sent, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    free(text);
    hang_up(c);
}

/* The value of a call: what follows a name that ends with `=`, a whole number of digits alone. */
static int value_of(const char *text, uint64_t *value)
{
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 9 || text[n])
        return 0;
    *value = strtoull(text, NULL, 10);
    return 1;
}

static void ask(struct caller *c)
{
    for (size_t i = 0; i < n_names; i++) {
        size_t n = strlen(names[i]);
        uint64_t value = 0;
        int named = n > 0 && names[i][n - 1] == '=' ? !strncmp(c->line, names[i], n) && value_of(c->line + n, &value)
                                                    : !strcmp(c->line, names[i]);
        if (named) {
            c->number = ++calls;
            epoll_ctl(queue, EPOLL_CTL_DEL, c->fd, NULL);
            struct word word = {.what = CALL, .line = c->number, .first = i, .second = value};
            tell_driver(driver, &word, sizeof word);
            return;
        }
    }
    answer(c, UINT64_MAX);
}

static void hear(struct caller *c)
{
    ssize_t n = read(c->fd, c->line + c->has, sizeof c->line - 1 - c->has);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        return hang_up(c);
    c->has += (size_t)n;
    c->line[c->has] = 0;
    char *end = strchr(c->line, '\n');
    if (end) {
        *end = 0;
        ask(c);
    } else if (c->has + 1 == sizeof c->line)
        hang_up(c);
}

int attend_calls(int fd)
{
    if (ear < 0)
        return 0;
    if (fd == ear) {
        int other = accept4(ear, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        for (size_t i = 0; other >= 0 && i < CALLERS; i++)
            if (!callers[i].open) {
                callers[i] = (struct caller){.open = 1, .fd = other};
                watch(queue, other, EPOLLIN);
                return 1;
            }
        close(other);
        return 1;
    }
    for (size_t i = 0; i < CALLERS; i++)
        if (callers[i].open && callers[i].fd == fd && !callers[i].number) {
            hear(&callers[i]);
            return 1;
        }
    return 0;
}

void called(const struct word *word)
{
    for (size_t i = 0; i < CALLERS; i++)
        if (callers[i].open && callers[i].number && callers[i].number == word->line)
            return answer(&callers[i], word->first);
}

void end_calls(void)
{
    if (ear >= 0)
        close(ear);
    for (size_t i = 0; i < CALLERS; i++)
        if (callers[i].open)
            hang_up(&callers[i]);
    ear = -1;
}

/* The tool that programs find. */

static const char HELP[] =
    "Change the network by a name that the scenario gives, such as a state of a link\n\n"
    "Usage: williwaw trigger [--run NAME] [--json] [NAME[=VALUE]]\n\n"
    "Without a name it lists the triggers; a name that ends with `=` takes a value. In a kernel of virtual time there is one run, `" RUN "`, and\n"
    "no other verb.\n";

static int refuse(const char *message, const char *what, const char *help)
{
    fprintf(stderr, "error: %s%s\n", message, what);
    fprintf(stderr, "  help: %s\n", help);
    return 2;
}

/* Asks the first process; the line that it answers, or nothing. */
static char *asked(const char *name)
{
    struct sockaddr_un at;
    socklen_t size = address(&at);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, size) < 0)
        return NULL;
    FILE *line = fdopen(fd, "r+");
    char *text = NULL;
    size_t room = 0;
    if (!line || fprintf(line, "%s\n", name) < 0 || fflush(line) != 0 || getline(&text, &room, line) <= 0)
        return NULL;
    return text;
}

/* The names in an answer, with these words between them. */
static void list(FILE *out, const char *text, const char *before, const char *between, const char *after)
{
    const char *at = strstr(text, "\"names\":[");
    int n = 0;
    for (at = at ? at + 9 : ""; *at == '"' || *at == ',';) {
        if (*at++ != '"')
            continue;
        size_t length = strcspn(at, "\"");
        fprintf(out, "%s%s%.*s%s", n++ ? between : "", before, (int)length, at, after);
        at += length + (at[length] == '"');
    }
}

static int show(const char *text, int json)
{
    if (json && text) {
        printf("{\n  \"running\": [\n    {\n      \"names\": [");
        list(stdout, text, "\n        \"", ",", "\"");
        printf("\n      ],\n      \"process\": %d,\n      \"run\": \"%s\"\n    }\n  ],\n", PROCESS, RUN);
        printf("  \"schema\": \"williwaw-trigger/1\"\n}\n");
    } else if (json)
        printf("{\n  \"running\": [],\n  \"schema\": \"williwaw-trigger/1\"\n}\n");
    else if (text) {
        printf("%s (%d): ", RUN, PROCESS);
        list(stdout, text, "", ", ", "");
        putchar('\n');
    } else
        fprintf(stderr, "no emulation is running here\n");
    return 0;
}

int call(int argc, char **argv)
{
    const char *name = NULL, *run = NULL;
    int json = 0;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help") || (i == 1 && !strcmp(argv[i], "help"))) {
            fputs(HELP, stdout);
            return 0;
        }
    if (argc < 2 || strcmp(argv[1], "trigger"))
        return refuse("programs in virtual time have one verb of williwaw: trigger", "", "williwaw trigger --help tells of it");
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--json"))
            json = 1;
        else if (!strcmp(argv[i], "--run") && i + 1 < argc)
            run = argv[++i];
        else if (!strncmp(argv[i], "--run=", 6))
            run = argv[i] + 6;
        else if (argv[i][0] == '-' || name)
            return refuse("unexpected argument ", argv[i], "williwaw trigger --help tells what there is");
        else
            name = argv[i];
    }
    char number[16];
    snprintf(number, sizeof number, "%d", PROCESS);
    int here = !run || !strcmp(run, RUN) || !strcmp(run, number);
    char *text = here ? asked(name && !strpbrk(name, "\n") ? name : "") : NULL;
    if (!name)
        return show(text, json);
    if (!text)
        return refuse("no emulation is running here", run && !here ? " of this name" : "", "in virtual time its name is " RUN ", and it hears until it ends all programs");
    double at = 0;
    if (sscanf(text, "{\"at_s\":%lf", &at) != 1) {
        fprintf(stderr, "error: `%s` has no trigger `%s`\n  help: its triggers: ", RUN, name);
        list(stderr, text, "", ", ", "");
        fputc('\n', stderr);
        return 2;
    }
    if (json)
        printf("{\n  \"name\": \"%s\",\n  \"process\": %d,\n  \"run\": \"%s\",\n  \"schema\": \"williwaw-trigger/1\",\n  \"t\": %.9f\n}\n",
               name, PROCESS, RUN, at);
    else
        fprintf(stderr, "%s at %.6f s of %s\n", name, at, RUN);
    return 0;
}
