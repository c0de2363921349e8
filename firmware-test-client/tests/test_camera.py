"""The camera's upload, as a vision service receives it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from scripted_server import ScriptedServer

from firmware_test_client import SimulatedDevice


class VisionServer(HTTPServer):
    """Takes chunked uploads and answers with `status` and a fixed text."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.headers: dict[str, str] = {}
        self.body = b""

    def parts(self) -> dict[str, bytes]:
        """The fields of the form, in order."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        message = BytesParser().parsebytes(head + self.body)
        fields: dict[str, bytes] = {}
        for part in message.walk():
            content = part.get_payload(decode=True)
            if isinstance(content, bytes):
                name = part.get_param("name", header="content-disposition")
                fields[str(name)] = content
        return fields


class _Handler(BaseHTTPRequestHandler):
    server: VisionServer

    def do_POST(self) -> None:
        self.server.headers = {name.lower(): value for name, value in self.headers.items()}
        chunks: list[bytes] = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        self.server.body = b"".join(chunks)
        answer = b'{"result":"a red apple"}'
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def vision() -> Iterator[VisionServer]:
    server = VisionServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def initialize(vision: VisionServer) -> dict[str, object]:
    url = f"http://127.0.0.1:{vision.server_port}/mcp/vision/explain"
    return {"capabilities": {"vision": {"url": url, "token": "secret"}}}


PHOTOGRAPH = {"name": "self.camera.take_photo", "arguments": {"question": "what is this?"}}


async def test_question_then_photo_and_the_raw_answer(
    server: ScriptedServer, vision: VisionServer
) -> None:
    async with SimulatedDevice(server.device(camera=True)) as device:
        await server.talk.request(1, "initialize", initialize(vision))
        answer = await server.talk.request(2, "tools/call", PHOTOGRAPH)
        assert answer["result"]["content"][0]["text"] == '{"result":"a red apple"}'
        fields = vision.parts()
        assert list(fields) == ["question", "file"]
        assert fields["question"] == b"what is this?"
        assert fields["file"] == device.hardware.photo
        assert vision.headers["authorization"] == "Bearer secret"
        assert vision.headers["device-id"] == device.config.device_id
        assert vision.headers["client-id"] == device.config.client_id
        assert vision.headers["transfer-encoding"] == "chunked"


async def test_the_firmware_s_errors(server: ScriptedServer, vision: VisionServer) -> None:
    async with SimulatedDevice(server.device(camera=True)) as device:
        answer = await server.talk.request(1, "tools/call", PHOTOGRAPH)
        assert answer["error"]["message"] == "Image explain URL or token is not set"
        vision.status = 401
        await server.talk.request(2, "initialize", initialize(vision))
        answer = await server.talk.request(3, "tools/call", PHOTOGRAPH)
        assert answer["error"]["message"] == "Failed to upload photo"
        vision.status = 200
        nowhere = {"capabilities": {"vision": {"url": "http://127.0.0.1:9/"}}}
        await server.talk.request(4, "initialize", nowhere)
        answer = await server.talk.request(5, "tools/call", PHOTOGRAPH)
        assert answer["error"]["message"] == "Failed to connect to explain URL"
        assert device.mcp.calls[-1].error == "Failed to connect to explain URL"
