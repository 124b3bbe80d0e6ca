"""Load times of a web page in one warm Chromium, for scenarios/real/browser.toml.

    python3 load.py URL [LOADS]

Chromium is started once and driven through two pipes (--remote-debugging-pipe). One tab loads the page 1 + LOADS times (3).
The last line is JSON: page_load_s, the median of the later loads, and first_load_s, which opens connections and starts the
tab's process. A load ends with the load event by the page's own clock (loadEventStart of PerformanceNavigationTiming).
CHROMIUM names another program.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"]
OPTIONS = """--headless --no-sandbox --disable-gpu --in-process-gpu --disable-dev-shm-usage --no-first-run
    --disable-extensions --disable-background-networking --disable-component-update --disable-sync --mute-audio
    --disable-background-timer-throttling --disable-renderer-backgrounding""".split()
LOADED = """new Promise(done => {
  const read = () => setTimeout(() => done(performance.getEntriesByType("navigation")[0].loadEventStart / 1000));
  document.readyState === "complete" ? read() : addEventListener("load", read);
})"""


class Browser:
    """Chromium and its DevTools protocol: JSON messages that end with a zero byte."""

    def __init__(self, profile):
        program = os.environ.get("CHROMIUM") or next(filter(shutil.which, PROGRAMS), None)
        if program is None:
            sys.exit("Chromium is not here: install chromium-headless-shell or chromium, or set CHROMIUM")
        (self.out, its_out), (its_in, self.into) = os.pipe(), os.pipe()

        def pipes():  # Chromium reads commands from descriptor 3 and answers on 4
            command, answer = os.dup(its_in), os.dup(its_out)
            os.dup2(command, 3)
            os.dup2(answer, 4)

        command = [program, *OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self.process = subprocess.Popen(command, preexec_fn=pipes, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(its_in)
        os.close(its_out)
        self.asked, self.rest = 0, b""

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.out, 1 << 16)
            if not piece:
                sys.exit("Chromium ended")
            self.rest += piece
        line, self.rest = self.rest.split(b"\0", 1)
        return json.loads(line)

    def ask(self, method, tab=None, **params):
        self.asked += 1
        message = {"id": self.asked, "method": method, "params": params, **({"sessionId": tab} if tab else {})}
        os.write(self.into, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.asked:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def tab(self):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        return self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def load(self, tab, url):
        went = self.ask("Page.navigate", tab, url=url)
        if "errorText" in went:
            sys.exit(f"{url}: {went['errorText']}")
        return self.ask("Runtime.evaluate", tab, expression=LOADED, awaitPromise=True, returnByValue=True)["result"]["value"]


def main():
    url, loads = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            tab = browser.tab()
            times = [browser.load(tab, url) for _ in range(1 + loads)]
            print(json.dumps({"page_load_s": statistics.median(times[1:]), "first_load_s": times[0]}))
        finally:
            browser.process.kill()


main()
