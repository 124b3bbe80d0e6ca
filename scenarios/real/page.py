"""A web page of eight pictures, for scenarios/real/browser.toml.

    python3 page.py [SECONDS]     serves it at port 8000; the document is held back for SECONDS
"""

import struct
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HELD = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
PICTURES = 8
SIDE = 100
# A bitmap of 100 by 100 pixels of 24 bits: 30 kB that no browser can do without.
BITMAP = struct.pack("<2sIHHI", b"BM", 54 + 3 * SIDE * SIDE, 0, 0, 54)
BITMAP += struct.pack("<IiiHHIIiiII", 40, SIDE, SIDE, 1, 24, 0, 3 * SIDE * SIDE, 0, 0, 0, 0)
BITMAP += bytes(i % 251 for i in range(3 * SIDE * SIDE))

PAGE = "<!doctype html><title>eight pictures</title><body>" + "".join(f'<img src="/{i}.bmp" alt="">' for i in range(PICTURES))


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        picture = self.path.endswith(".bmp")
        body = BITMAP if picture else PAGE.encode()
        if not picture and self.path == "/":
            time.sleep(HELD)
        self.send_response(200 if picture or self.path == "/" else 404)
        self.send_header("Content-Type", "image/bmp" if picture else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    # The browser opens six connections at once; a backlog of 5 drops a SYN, which costs 1 s.
    request_queue_size = 64


Server(("", 8000), Page).serve_forever()
