"""A small HTTP server: OTA answers and firmware files as a test states them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from firmware_test_client import DeviceConfig

Answer = tuple[int, str]
"""HTTP status and body."""


def answer(url: str = "ws://127.0.0.1:1/", **more: object) -> Answer:
    """A usable OTA answer, with further sections."""
    return sections(websocket={"url": url, "token": "abc", "version": 3}, **more)


def sections(**sections: object) -> Answer:
    """An OTA answer of these sections only."""
    return 200, json.dumps(sections)


@dataclass
class File:
    """A firmware for GET, with a server's faults."""

    content: bytes
    status: int = 200
    how: str = "length"  # "length", "chunked", "neither"
    cut: int = 0  # bytes at the end that are promised but not sent
    hold: threading.Event | None = None  # the second half is sent when it is set


class OtaServer(ThreadingHTTPServer):
    """Answers each POST with `respond`, or the next of `answers`, and records all requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[Answer] = []
        self.respond: Callable[[str, Any], Answer] | None = None
        self.files: dict[str, File] = {}
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.downloads: list[tuple[str, dict[str, str]]] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))

    def __enter__(self) -> OtaServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def config(self, **options: Any) -> DeviceConfig:  # noqa: ANN401  keywords of DeviceConfig
        """A device that never waits long."""
        quick = {
            "activation_retry": 0.01,
            "activation_error_retry": 0.01,
            "ota_retry": 0.001,
            "pause_scale": 0.01,
        }
        return DeviceConfig(ota_url=f"{self.base}/xiaozhi/ota/", **(quick | options))

    def offer(self, content: bytes, path: str = "/f.bin", **options: Any) -> str:  # noqa: ANN401  fields of File
        """Serve a file; returns its URL."""
        self.files[path.split("?", maxsplit=1)[0]] = File(content, **options)
        return self.base + path


class _Handler(BaseHTTPRequestHandler):
    server: OtaServer
    protocol_version = "HTTP/1.1"

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        server.requests.append((self.path, self._headers(), body))
        if server.respond is not None:
            status, text = server.respond(self.path, body)
        else:
            status, text = server.answers.pop(0)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self) -> None:
        self.server.downloads.append((self.path, self._headers()))
        file = self.server.files[self.path.split("?")[0]]
        self.close_connection = True
        self.send_response(file.status)
        if file.how == "length":
            self.send_header("Content-Length", str(len(file.content)))
        elif file.how == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self._send(file)
        except OSError:
            pass  # a device that refuses an image closes the connection

    def _send(self, file: File) -> None:
        content = file.content[: len(file.content) - file.cut]
        if file.how == "chunked":
            self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n0\r\n\r\n")
            return
        half = len(content) // 2
        self.wfile.write(content[:half])
        self.wfile.flush()
        if file.hold is not None:
            file.hold.wait(30)
        self.wfile.write(content[half:])

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
