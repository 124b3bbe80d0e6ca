/* SCTP in user space (libusrsctp) as one end of a flow: `usrsctp sink` waits and reads, `usrsctp source` opens and writes.
 *
 * Built by tests/sctp.rs where Debian's libusrsctp-dev is installed:
 *     cc -DINET -o usrsctp usrsctp.c -lusrsctp -lpthread
 *
 * Addresses, port and bytes come from the environment that `linux.program` has. Each line that it writes has what the
 * application has had so far, and the library's counters. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <usrsctp.h>

static struct sockaddr_in of(const char *name) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    const char *port = getenv("WILLIWAW_PORT"), *address = name ? getenv(name) : NULL;
    at.sin_port = htons(port ? atoi(port) : 9);
    at.sin_addr.s_addr = address ? inet_addr(address) : htonl(INADDR_ANY);
    return at;
}

static int fail(const char *what) {
    perror(what);
    return 1;
}

static void tell(unsigned long long bytes) {
    struct sctpstat all;
    usrsctp_get_stat(&all);
    printf("bytes %llu badsum %u badtag %u duplicates %u timeouts %u fast %u\n", bytes, all.sctps_badsum,
           all.sctps_badvtag, all.sctps_recvdupdata, all.sctps_timodata, all.sctps_sendfastretrans);
    fflush(stdout);
}

static int sink(struct socket *ear) {
    struct sockaddr_in at = of(NULL);
    if (usrsctp_bind(ear, (struct sockaddr *)&at, sizeof at) < 0) return fail("bind");
    if (usrsctp_listen(ear, 1) < 0) return fail("listen");
    struct socket *line = usrsctp_accept(ear, NULL, NULL);
    if (!line) return fail("accept");
    static char buffer[1 << 16];
    unsigned long long bytes = 0;
    for (;;) {
        struct sockaddr_in from;
        struct sctp_rcvinfo info;
        socklen_t length = sizeof from, size = sizeof info;
        unsigned kind = 0;
        int flags = 0;
        ssize_t n = usrsctp_recvv(line, buffer, sizeof buffer, (struct sockaddr *)&from, &length, &info, &size, &kind, &flags);
        if (n <= 0) break;
        bytes += n;
        tell(bytes);
    }
    usrsctp_close(line);
    return 0;
}

static int source(struct socket *line) {
    struct sockaddr_in at = of("WILLIWAW_PEER");
    if (usrsctp_connect(line, (struct sockaddr *)&at, sizeof at) < 0) return fail("connect");
    const char *asked = getenv("WILLIWAW_BYTES");
    unsigned long long left = asked ? strtoull(asked, NULL, 10) : 0, bytes = 0;
    static char zeros[1000];
    while (left) {
        size_t part = left < sizeof zeros ? left : sizeof zeros;
        ssize_t n = usrsctp_sendv(line, zeros, part, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO, 0);
        if (n <= 0) return fail("send");
        left -= n;
        bytes += n;
        tell(bytes);
    }
    usrsctp_shutdown(line, SHUT_WR);
    /* The model at the other end knows when all has come, and ends the run. */
    for (;;) {
        sleep(1);
        tell(bytes);
    }
}

int main(int count, char **words) {
    if (count != 2) return 2;
    usrsctp_init(0, NULL, NULL);
    /* The packets' checksums count on every interface. */
    usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
    struct socket *made = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
    if (!made) return fail("socket");
    return strcmp(words[1], "sink") ? source(made) : sink(made);
}
