"""What is there while a command runs: a program that holds a port, services that refuse."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.mistakes.kit import Around


@contextmanager
def busy_port() -> Iterator[Mapping[str, str]]:
    """A program listens on ``<PORT>`` of every address."""
    with socket.create_server(("0.0.0.0", 0)) as listener:  # noqa: S104 - as the server does
        yield {"PORT": str(listener.getsockname()[1])}


@contextmanager
def nobody() -> Iterator[Mapping[str, str]]:
    """Nothing listens on ``<PORT>``, which is not given to another program meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield {"PORT": str(held.getsockname()[1])}


def service(status: int, message: str, media: str = "application/json") -> Around:
    """A service on ``<PORT>`` that answers everything with ``status``.

    ``message``: within JSON, as services of this kind do it; else the text itself.
    """
    body = json.dumps({"error": {"message": message}}) if "json" in media else message

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            content = body.encode()
            self.send_response(status)
            self.send_header("content-type", media)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = answer  # noqa: N815 - names of the base class

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Service(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Print nothing about a caller that has hung up, into what the program prints."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)  # type: ignore[arg-type]  # as it came

    @contextmanager
    def running() -> Iterator[Mapping[str, str]]:
        server = Service(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield {"PORT": str(server.server_address[1])}
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    return running
