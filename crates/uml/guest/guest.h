/* What the files of a guest's first process share: its task, what it has to tell, and how it waits. */
#ifndef WILLIWAW_GUEST
#define WILLIWAW_GUEST
#define _GNU_SOURCE
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { CHUNK = 65536, PORT = 9, COMMANDS = 1024, OTHERS = 7 };
/* The first seconds of every kernel are its boot's: t = 0 of the network is then. */
#define ORIGIN 2000000000u
/* How often a full queue of DCCP is looked at, nanoseconds: 5 packets in 2 ms are 20 Mbit/s of 1000 B. */
#define DCCP_TICK 2000000u
/* The port of the first connection that is opened, and of an end that sends datagrams. */
enum { FIRST = 1024 };
/* A word to or from whoever drives this kernel, in the order of bytes of this machine. */
enum { OPEN = 1, WRITE, CLOSE, ABORT, END, STANDS, BROKEN, SAY, HEARD, READ, CALL, CALLED, STATION, GB };
struct word {
    uint32_t what, line;
    uint64_t first, second;
};
/* The kind of frame by which whoever drives this kernel speaks with its first process (IEEE 802: for experiments). */
#define WORDS 0x88b5

/* A program that is to run. */
struct command {
    uint64_t start, begun, ended;
    int serves, pid, status;
    const char *lacks;
};

struct task {
    char work[16]; /* bulk, lines, datagrams, commands, or pcu */
    int sends, slowly; /* slowly: what comes is read when that is ordered */
    char address[48], address6[48], peer[48], cc[32];
    char others[OTHERS][48]; /* addresses on other network paths */
    int n_others;
    int width, mtu, protocol;
    int ccid, payload; /* of DCCP */
    uint64_t start, until, look;
    int64_t bytes; /* -1: without end */
    char root[4096], folder[4096], host[256];
    char *variables[64];
    size_t n_variables;
    struct command commands[COMMANDS];
    size_t n_commands;
    int calls; /* there are names that they can call, in /triggers */
};

extern struct task task;
extern uint64_t carried, finished;

/* A line on the console, which whoever drives this kernel reads. */
void say(const char *what);
/* Says why nothing can go on, and rests. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Notes what went wrong in the work, to be told at the end. */
void broken(const char *doing, int error);
uint64_t now(void);
struct tcp_info look(int fd, int keep);
int watch(int queue, int fd, uint32_t events);
int watch_alarm(int queue, uint64_t at, uint64_t every);
void sleep_until(uint64_t at);
/* Words to and from whoever drives this kernel: a socket for them, and one word. */
int hear_driver(void);
void tell_driver(int fd, const void *word, size_t size);
/* Copies a file; what cannot be read is empty. */
void copy(const char *from, const char *to);

/* An address and its port; no text is any address of the version that the peer's has. Says how long it is. */
socklen_t place(struct sockaddr_storage *at, const char *text, int port);
int port_of(const struct sockaddr_storage *at);
/* The address of this end that is of the version of the peer's. */
const char *own_address(void);
/* A socket for a connection, that does not wait. */
int connection(void);
/* Whether nothing that was written to a DCCP socket waits in its kernel any more. */
int is_flushed(int fd);

void send_all(int fd);
void receive_all(int fd);
void receive_slowly(int fd, int words);
/* Names that programs call: whoever hears of them by `words`; what to watch; whether a descriptor was one of theirs; what was
 * answered; no more. */
void prepare_calls(int words);
void watch_calls(int queue);
int attend_calls(int fd);
void called(const struct word *word);
void end_calls(void);
/* What this program is to others than the kernel: the tool by which programs call. */
int call(int argc, char **argv);
void prepare_commands(void);
/* What a program of the user's needs, without starting one: where the driver is heard. Starts one; what it wrote last; ends all. */
int prepare_program(void);
void start_program(size_t n);
const char *program_error(void);
void end_programs(void);
void prepare_pcu(void);
void run_pcu(void);
void run_commands(void);
void prepare_agent(void);
void run_agent(void);
void prepare_datagrams(void);
void run_datagrams(void);
#endif
