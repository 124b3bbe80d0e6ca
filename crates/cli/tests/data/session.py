"""Somebody at a terminal: types, waits for what must appear, and says what did not. `session.py WILLIWAW`"""

import os
import pty
import select
import sys
import time

WILLIWAW = sys.argv[1]
LINK = f"{WILLIWAW} shell --link 'delay=5 ms'"
seen = ""


def wait_for(text, fd, patience=15):
    """Until it appears behind what was seen before."""
    global seen
    end = time.time() + patience
    while text not in seen:
        if time.time() > end:
            sys.exit(f"waited for {text!r}, saw {seen!r}")
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 65536).decode(errors="replace")
            if "needs rights" in seen:
                sys.exit(seen)
    seen = seen[seen.index(text) + len(text):]


pid, fd = pty.fork()
if pid == 0:
    os.environ.update(PS1="outer> ", SHELL="/bin/bash", HOME="/nonexistent", TERM="dumb", LC_ALL="C")
    os.execvp("bash", ["bash", "--norc", "-i"])


def say(text, *answers):
    os.write(fd, text.encode())
    for answer in answers:
        wait_for(answer, fd)


wait_for("outer> ", fd)
say(f"{LINK} --name lte\n", "[lte] ")
say("tty; echo at $((20 + 1))\n", "/dev/pts/", "at 21")
say("python3 -q\n", ">>> ")
say("print(6 * 7)\n", "42", ">>> ")
say("exit()\n", "[lte] ")
say("sleep 1000\n")
time.sleep(0.5)
say("\x03", "[lte] ")
say("echo code $?\n", "code 130")
say("sleep 1000\n")
time.sleep(0.5)
say("\x1a", "Stopped", "[lte] ")
say("fg\n", "sleep 1000")
time.sleep(0.5)
say("\x03", "[lte] ")
say(f"{LINK} --name geo\n", "[lte] [geo] ")
say("exit 7\n", "[lte] ")
say("echo code $?\n", "code 7")
say("exit 5\n", "outer> ")
say("echo code $?\n", "code 5")
say(f"{LINK} -- sleep 1000\n")
time.sleep(1)
say("\x1a", "Stopped", "outer> ")
say("fg\n", "sleep 1000")
time.sleep(0.5)
say("\x03", "outer> ")
say("echo code $?\n", "code 130")
say(f"{LINK} -- sh -c 'sleep 1000' | cat\n")
time.sleep(1)
say("\x03", "outer> ")
say("echo code ${PIPESTATUS[0]}\n", "code 130")
os.write(fd, b"exit\n")
os.waitpid(pid, 0)
