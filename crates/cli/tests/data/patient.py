"""Who waits in front of somebody for a signal, and says when one can be sent: at the start, and after every stop."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGCONT, lambda *_: print("goes on", flush=True))
print("it runs", flush=True)
while True:
    signal.pause()
