"""Traces of turns, sent by the real library to a receiver that decodes them."""

from __future__ import annotations

import asyncio
import gzip
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import serving, settings
from tests.support.llm_server import Call, LLMServer, calls, failure, text
from tests.support.waiting import until
from vixio.testing import ScriptedAgentBackend, ScriptedTTS

SOUND = "turn it up"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


def plain(body: bytes) -> bytes:
    """Return a body as it was before it was compressed, if it was."""
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


class Receiver:
    """An OTLP/HTTP receiver. ``held``: requests wait until it is set."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Message, bytes]] = []
        self.held: threading.Event | None = None
        self.status = 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, self.headers, body))
                if receiver.held is not None:
                    receiver.held.wait(60)
                self.send_response(receiver.status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *words: object) -> None:
                """Nothing on standard error."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        if self.held is not None:
            self.held.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def resources(self) -> list[Any]:
        """Return the ``ResourceSpans`` of all requests."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        found: list[Any] = []
        for path, headers, body in self.requests:
            assert path == "/v1/traces"
            assert headers["Content-Type"] == "application/x-protobuf"
            assert headers["Content-Encoding"] in {None, "gzip"}
            found.extend(ExportTraceServiceRequest.FromString(plain(body)).resource_spans)
        return found

    def spans(self) -> list[Any]:
        """Return all spans that were received."""
        return [
            span
            for resource in self.resources()
            for scope in resource.scope_spans
            for span in scope.spans
        ]


def attributes(of: Any) -> dict[str, Any]:  # noqa: ANN401 - a protobuf message
    """Return the attributes of a span or resource."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with Receiver() as running:
        monkeypatch.setenv(ENDPOINT, running.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
        yield running


async def test_each_turn_is_a_trace(receiver: Receiver) -> None:
    known = await recordings([SOUND])
    async with LLMServer() as llm:
        agent = {"name": "openai", "base_url": llm.base_url, "api_key": "k", "model": "m"}
        async with (
            serving(settings(agent=agent), asr=WaveformASR(known), tts=ScriptedTTS()) as server,
            SimulatedDevice(server.device()) as device,
        ):
            ended = server.ended_turns()
            louder = Call("1", "self_audio_speaker_set_volume", '{"volume": 30}')
            llm.script(calls(louder), text("Done."))
            assert (await device.ask(SOUND)).text == "Done."
            llm.script(failure(401, "no"))
            await device.type_text("hello")
            await until(
                lambda: len([span for span in receiver.spans() if span.name == "turn"]) == 2,
                what="both traces",
                seconds=60,
            )
            session = next(iter(server.app.sessions)).session_id
            assert_nothing_wrong(device)
    spans = receiver.spans()
    spoken, typed = (span for span in spans if span.name == "turn")
    assert spoken.trace_id != typed.trace_id
    assert not spoken.parent_span_id
    for turn, event in ((spoken, ended[0]), (typed, ended[1])):
        assert attributes(turn)["session.id"] == session
        assert attributes(turn)["device.id"] == device.config.device_id
        assert attributes(turn)["vixio.turn.id"] == event.turn_id
    parts = [span for span in spans if span.parent_span_id == spoken.span_id]
    assert [span.name for span in parts] == [
        "endpointing",
        "transcript",
        "first_token",
        "first_sentence",
        "first_audio",
        "first_frame",
        "playout",
        "execute_tool self_audio_speaker_set_volume",
    ]
    marks = ended[0].timeline.marks
    for span in parts:
        assert span.trace_id == spoken.trace_id
        assert spoken.start_time_unix_nano <= span.start_time_unix_nano
        assert span.start_time_unix_nano <= span.end_time_unix_nano <= spoken.end_time_unix_nano
    took = {
        span.name: (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9 for span in parts
    }
    assert took["endpointing"] == pytest.approx(marks["turn_end"] - marks["voice_end"], abs=1e-3)
    assert took["playout"] == pytest.approx(marks["playout_end"] - marks["first_frame"], abs=1e-3)
    tool = attributes(parts[-1])
    assert (tool["gen_ai.operation.name"], tool["vixio.tool.source"]) == ("execute_tool", "device")
    assert attributes(spoken)["gen_ai.usage.output_tokens"] == ended[0].timeline.output_tokens > 0
    error = typed.status
    assert (error.code, error.message) == (error.STATUS_CODE_ERROR, "failed")
    assert spoken.status.code == error.STATUS_CODE_UNSET
    for resource in receiver.resources():
        said = attributes(resource.resource)
        assert said["service.name"] == "vixio"
        assert said["deployment.environment"] == "test"
        assert said["service.version"]
    sent = b"".join(plain(body) for _, _, body in receiver.requests)
    for private in (SOUND, "Done.", "hello", '"volume"'):
        assert private.encode() not in sent


async def test_the_last_turn_is_sent_when_the_server_stops(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "kitchen")
    async with (
        serving(asr=WaveformASR({}), agent=ScriptedAgentBackend(), tts=ScriptedTTS()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        await device.type_text("hello")
    assert [span.name for span in receiver.spans() if not span.parent_span_id] == ["turn"]
    (resource,) = receiver.resources()
    assert attributes(resource.resource)["service.name"] == "kitchen"


async def test_an_endpoint_that_hangs_or_is_away_costs_no_turn(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vixio.composition.traces.FLUSH_S", 0.1)
    receiver.held = threading.Event()
    async with (
        serving(asr=WaveformASR({}), agent=ScriptedAgentBackend(), tts=ScriptedTTS()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        await device.type_text("hello")
        await until(lambda: receiver.requests, what="a request that hangs", seconds=60)
        for _ in range(3):
            assert (await device.type_text("hello")).text == "You said hello."
        assert server.count("traces.dropped") == 0


async def test_an_outage_is_a_line_at_its_beginning_and_one_at_its_end(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "vixio")
    receiver.status = 401
    async with (
        serving(asr=WaveformASR({}), agent=ScriptedAgentBackend(), tts=ScriptedTTS()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        for number in range(1, 4):
            await device.type_text("hello")
            await until(lambda: len(receiver.requests) >= number, what="an attempt", seconds=60)  # noqa: B023
        receiver.status = 200
        await device.type_text("hello")
        await until(lambda: "traces are sent again" in caplog.messages, what="it", seconds=60)
    (line,) = (each for each in caplog.records if each.getMessage() == "traces cannot be sent")
    assert "401" in vars(line)["reason"]
    assert caplog.messages.count("traces are sent again") == 1
    assert not [each for each in caplog.records if each.name.startswith("opentelemetry")]


async def test_without_the_extra_a_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    async with (
        serving(asr=WaveformASR({}), agent=ScriptedAgentBackend(), tts=ScriptedTTS()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        await until(lambda: "no traces" in caplog.messages, what="the line", seconds=60)
        assert (await device.type_text("hello")).text == "You said hello."
    (line,) = (each for each in caplog.records if each.getMessage() == "no traces")
    assert line.levelno == logging.WARNING
    assert "make extra NAME=otel" in vars(line)["reason"]


async def test_a_mistake_in_its_variables_costs_the_traces_alone(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    async with (
        serving(asr=WaveformASR({}), agent=ScriptedAgentBackend(), tts=ScriptedTTS()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        await until(lambda: "no traces" in caplog.messages, what="the line", seconds=60)
        assert (await device.type_text("hello")).text == "You said hello."
    (line,) = (each for each in caplog.records if each.getMessage() == "no traces")
    assert "max_queue_size" in vars(line)["reason"]


async def test_without_an_endpoint_the_library_is_not_imported() -> None:
    program = (
        "import asyncio, sys\n"
        "from tests.e2e.harness import serving\n"
        "from vixio.testing import ScriptedAgentBackend\n"
        "async def main():\n"
        "    async with serving(agent=ScriptedAgentBackend()):\n"
        "        pass\n"
        "asyncio.run(main())\n"
        "found = [name for name in sys.modules if name.startswith('opentelemetry.sdk')]\n"
        "assert not found, found\n"
        "import threading\n"
        "assert not [t for t in threading.enumerate() if t.name == 'vixio-traces']\n"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
