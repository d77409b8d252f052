"""Receives webhooks."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer


class Hooks:
    """A server on loopback, and the bodies that it received: verdicts, and earlier messages."""

    def __init__(self) -> None:
        self.bodies: list[dict] = []
        self.notices: list[dict] = []
        bodies, notices = self.bodies, self.notices

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                (bodies if body.get("stage", "verdict") == "verdict" else notices).append(body)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        self.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
