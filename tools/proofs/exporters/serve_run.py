"""Serves `troika metrics RUN --openmetrics` at /metrics, made anew for each request: serve_run.py TROIKA RUN PORT"""

import http.server
import subprocess
import sys


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = subprocess.run([sys.argv[1], "metrics", sys.argv[2], "--openmetrics"], stdout=subprocess.PIPE, check=True).stdout
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3])), Page).serve_forever()
