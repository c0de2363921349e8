"""The demo's HTTP service: a weather station that answers, and a garage whose motor is broken."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWERS = {
    "/station": (200, {"now": {"text": "cold and dry"}}),
    "/garage": (503, {"error": "the motor does not move"}),
}


class House(ThreadingHTTPServer):
    """Listens on a free loopback port; ``seen`` has the requests as they came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: the conversation is what is printed."""

    def _answer(self) -> None:
        assert isinstance(self.server, House)  # noqa: S101 - made by House alone
        self.server.seen.append(f"{self.command} {self.path}")
        status, answer = ANSWERS.get(self.path, (404, {"error": "nothing is here"}))
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def standing() -> Iterator[House]:
    """Run the service until the block ends."""
    house = House()
    thread = threading.Thread(target=house.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield house
    finally:
        house.shutdown()
        thread.join()
        house.server_close()
