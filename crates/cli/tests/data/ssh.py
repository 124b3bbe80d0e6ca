"""Somebody logs in by ssh through a link and types. `ssh.py WILLIWAW SSHD`"""

import os
import pty
import select
import sys
import time

WILLIWAW, SSHD = sys.argv[1:]
DELAY = 0.1
seen = ""


def wait_for(text, patience=30):
    """Until it appears behind what was seen before; the seconds that took."""
    global seen
    start = time.time()
    while text not in seen:
        if time.time() > start + patience:
            sys.exit(f"waited for {text!r}, saw {seen!r}")
        if select.select([fd], [], [], 0.05)[0]:
            seen += os.read(fd, 65536).decode(errors="replace")
            if "needs rights" in seen:
                sys.exit(seen)
    seen = seen[seen.index(text) + len(text):]
    return time.time() - start


pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", LC_ALL="C")
    link = f"rate=256 kbit/s, delay={DELAY * 1000:.0f} ms"
    os.execv(WILLIWAW, [WILLIWAW, "shell", "--link", link, "--server", f"exec sh {SSHD} server", "--",
                        "sh", SSHD, "login", "exec", "sh"])


def say(text, *answers):
    os.write(fd, text.encode())
    return [wait_for(answer) for answer in answers]


# The prompt of a shell of root, or of anybody.
while not any(prompt in seen for prompt in ("# ", "$ ")):
    seen += os.read(fd, 65536).decode(errors="replace")
seen = ""
say("PS1=ready:\n", "PS1=ready:\r\n", "ready:")
# What is typed appears when it has been there and back.
[echoed] = say("q", "q")
if not 2 * DELAY <= echoed < 2 * DELAY + 2:
    sys.exit(f"the echo took {echoed:.3f} s")
say("\x15tty\n", "/dev/pts/", "ready:")
patient = os.path.join(os.path.dirname(os.path.abspath(__file__)), "patient.py")
say(f"python3 {patient}\n", "it runs")
say("\x03", "ready:")
say("echo sum $((20 + 22))\n", "sum 42", "ready:")
os.write(fd, b"exit 7\n")
try:
    while os.read(fd, 65536):
        pass
except OSError:
    pass
_, status = os.waitpid(pid, 0)
code = os.waitstatus_to_exitcode(status)
print(f"echo after {echoed:.3f} s, status {code}")
sys.exit(0 if code == 7 else f"the login ended with {code}")
