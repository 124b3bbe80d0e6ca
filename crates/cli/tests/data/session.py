"""Somebody at a terminal: types, waits for what must appear, and says what did not. `session.py WILLIWAW`"""

import os
import pty
import select
import sys
import time

WILLIWAW = sys.argv[1]
# A signal sent before the shell has put what was typed in front is the shell's own, or is lost between its fork and its
# exec: so what is typed says itself when it runs, and when it goes on.
PATIENT = "python3 " + os.path.join(os.path.dirname(os.path.abspath(__file__)), "patient.py")
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
say(f"{PATIENT}\n", "it runs")
say("\x03", "[lte] ")
say("echo code $?\n", "code 130")
say(f"{PATIENT}\n", "it runs")
say("\x1a", "Stopped", "[lte] ")
say("fg\n", "goes on")
say("\x03", "[lte] ")
say(f"{LINK} --name geo\n", "[lte] [geo] ")
say("exit 7\n", "[lte] ")
say("echo code $?\n", "code 7")
say("exit 5\n", "outer> ")
say("echo code $?\n", "code 5")
say(f"{LINK} -- {PATIENT}\n", "it runs")
say("\x1a", "Stopped", "outer> ")
say("fg\n", "goes on")
say("\x03", "outer> ")
say("echo code $?\n", "code 130")
say(f"{LINK} -- sh -c '{PATIENT}' | cat\n", "it runs")
say("\x03", "outer> ")
say("echo code ${PIPESTATUS[0]}\n", "code 130")
os.write(fd, b"exit\n")
os.waitpid(pid, 0)
