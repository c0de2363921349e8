"""REST tools against a real service: answers, errors, unusable answers."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.tools.rest.service import Handler, Seen, Service, respond, running, saying
from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.types import ToolCallResult, ToolOptions
from vixio.tools.rest.client import MAX_ANSWER_BYTES
from vixio.tools.rest.config import RestToolConfig
from vixio.tools.rest.source import RestSource

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(service: Service, path: str = "/weather", **more: Any) -> RestToolConfig:  # noqa: ANN401 - its fields
    config = RestToolConfig(
        "weather",
        "Tell the weather.",
        "GET",
        service.url + path,
        CITY,
        headers={"X-Key": "s3cret"},
        allow_private=True,
        options=ToolOptions(timeout=10.0, idempotent=True, retries=0, backoff=0.01),
    )
    return replace(config, **more)


@asynccontextmanager
async def offered(*configs: RestToolConfig) -> AsyncIterator[ToolRuntime]:
    runtime = ToolRuntime([RestSource(configs)], counters=Counters())
    await runtime.start()
    try:
        yield runtime
    finally:
        await runtime.close()


async def call(
    runtime: ToolRuntime, arguments: dict[str, Any], name: str = "weather"
) -> ToolCallResult:
    session = runtime.open("aa:bb", "s")
    try:
        turn = session.begin_turn(1, "en")
        (found,) = (each for each in session.toolset.definitions() if each.name == name)
        return await turn.run(found, json.dumps(arguments))
    finally:
        await session.close()


async def test_a_call_sends_its_arguments_and_selects_from_the_answer() -> None:
    async with running() as service:
        service.on("/weather", saying('{"now": {"degrees": 21.5, "sky": "clear"}, "more": []}'))
        picked = tool(service, result="now.{temperature: degrees, sky: sky}")
        async with offered(picked) as runtime:
            result = await call(runtime, {"city": "Rome"})
            assert json.loads(result.result or "") == {"temperature": 21.5, "sky": "clear"}
            seen = service.seen[0]
            assert (seen.method, seen.query) == ("GET", [("city", "Rome")])
            assert seen.headers["x-key"] == "s3cret"
            assert seen.headers["host"] == f"127.0.0.1:{service.port}"
            await call(runtime, {"city": "Oslo"})
            assert service.connections == 1, "connections are kept"
            wrong = await call(runtime, {"town": "Rome"})
            assert wrong.error_type == "invalid_arguments"
            assert len(service.seen) == 2
            assert runtime.counters.get("tool.rest.calls") == 3


@pytest.mark.parametrize(
    ("body", "kind", "pick", "expected"),
    [
        ("plain words", "text/plain; charset=utf-8", "", "plain words"),
        ('"one string"', "application/json", "", "one string"),
        ('{"a": 1}', "application/problem+json", "", '{"a": 1}'),
        ('{"a": 1}', "application/json", "b", "nothing found"),
        ('{"a": 1}', "text/plain", "a", "1"),
        ("", "", "", "done"),
        ('{"a": ["ü"]}', "application/json", "a[0]", "ü"),
        (json.dumps({"a": ["x" * 50_000, "y"]}), "application/json", "a[1]", "y"),
    ],
)
async def test_answers_of_every_kind(body: str, kind: str, pick: str, expected: str) -> None:
    async with running() as service:
        service.on("/weather", saying(body, kind=kind))
        async with offered(tool(service, result=pick)) as runtime:
            result = await call(runtime, {"city": "Rome"})
    assert (result.success, result.result) == (True, expected)


@pytest.mark.parametrize(
    ("status", "error_type", "retryable", "words"),
    [
        (400, "failed", False, "the service answers 400: no such day"),
        (401, "failed", False, "the service refuses the access (401)"),
        (403, "failed", False, "the service refuses the access (403)"),
        (404, "not_found", False, "the service answers 404: no such day"),
        (429, "failed", True, "the service answers 429: no such day"),
        (503, "failed", True, "the service answers 503: no such day"),
    ],
)
async def test_errors_quote_the_service_except_for_authorization(
    status: int, error_type: str, retryable: bool, words: str
) -> None:
    async with running() as service:
        service.on("/weather", saying("no such\n day", status=status, kind="text/plain"))
        async with offered(tool(service)) as runtime:
            result = await call(runtime, {"city": "Rome"})
    assert (result.error_type, result.retryable, result.error) == (error_type, retryable, words)


async def test_only_idempotent_calls_are_retried_and_retry_after_is_kept() -> None:
    async with running() as service:
        answers = [(503, "0"), (429, "3600"), (200, "0")]

        async def handler(_: Seen, writer: asyncio.StreamWriter) -> None:
            status, wait = answers.pop(0)
            respond(writer, "1", status=status, retry_after=wait)

        service.on("/weather", handler)
        options = ToolOptions(timeout=10.0, idempotent=True, retries=5, backoff=0.01)
        async with offered(tool(service, options=options)) as runtime:
            result = await call(runtime, {"city": "Rome"})
            assert (result.success, result.retryable) == (False, True)
            assert len(service.seen) == 2, "an hour is not waited for, nor asked before"
            again = await call(runtime, {"city": "Rome"})
            assert again.result == "1"


@pytest.mark.parametrize(
    ("handler", "error_type", "words"),
    [
        (saying("{half", kind="application/json"), "failed", "not JSON"),
        (saying(b"\x89PNG", kind="image/png"), "failed", "image/png, which cannot be read"),
        (saying(b"x" * (MAX_ANSWER_BYTES + 1), kind="text/plain"), "failed", "more than"),
        (saying("", status=302, location="/weather"), "failed", "redirects more than"),
        (saying("", status=302, location="http://127.0.0.2/x"), "denied", "another host"),
        (saying("", status=307, location="http://127.0.0.1:1/x"), "denied", "another host"),
        (saying("", status=302, location="//metadata.internal/"), "denied", "another host"),
        (saying("", status=302, location="file:///etc/passwd"), "denied", "another host"),
        (saying("", status=302, location="http://[::1"), "denied", "another host"),
        (saying("", status=302, location="/" + "x" * 70_000), "failed", "cannot be read"),
        (saying("no gzip", content_encoding="gzip"), "failed", "cannot be read"),
    ],
)
async def test_an_unusable_answer_is_an_error_for_the_model(
    handler: Handler, error_type: str, words: str
) -> None:
    async with running() as service:
        service.on("/weather", handler)
        async with offered(tool(service)) as runtime:
            result = await call(runtime, {"city": "Rome"})
    assert result.error_type == error_type
    assert words in str(result.error)


async def test_a_redirect_on_the_same_host_is_followed() -> None:
    async with running() as service:
        service.on("/weather", saying("", status=303, location="/elsewhere?a=1"))
        post = tool(service, method="POST", options=ToolOptions(timeout=10.0))
        async with offered(post) as runtime:
            result = await call(runtime, {"city": "Rome"})
        assert json.loads(result.result or "")["path"] == "/elsewhere"
        assert [seen.method for seen in service.seen] == ["POST", "GET"]


async def test_a_private_address_is_refused_unless_allowed() -> None:
    async with running() as service:
        async with offered(tool(service, allow_private=False)) as runtime:
            result = await call(runtime, {"city": "Rome"})
        assert result.error_type == "denied"
        assert service.seen == []


async def test_the_checked_address_is_the_one_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that would resolve to something else a moment later gains nothing."""
    async with running() as service:
        asked: list[str] = []

        async def found(self: object, host: str, port: int, **options: Any) -> list[Any]:  # noqa: ANN401
            asked.append(host)
            address = "127.0.0.1" if len(asked) == 1 else "127.0.0.3"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", found)
        named = tool(service, url=f"http://weather.example:{service.port}/weather")
        async with offered(named) as runtime:
            result = await call(runtime, {"city": "Rome"})
        assert result.success
        assert [host for host in asked if host == "weather.example"] == ["weather.example"]
        assert service.seen[0].headers["host"] == f"weather.example:{service.port}"


@pytest.mark.slow
async def test_a_slow_service_times_out_and_the_connection_is_closed() -> None:
    async with running() as service:

        async def trickle(_: Seen, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 X\r\ncontent-type: text/plain\r\n\r\n")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.05)  # a service that trickles

        service.on("/weather", trickle)
        slow = tool(service, options=ToolOptions(timeout=2.0))
        async with offered(slow) as runtime:
            result = await call(runtime, {"city": "Rome"})
            assert (result.error_type, result.retryable) == ("timeout", True)
            async with asyncio.timeout(60):
                await service.hung_up.wait()


async def test_a_refused_connection() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        config = tool(Service(port=port))
        async with offered(config) as runtime:
            result = await call(runtime, {"city": "Rome"})
    assert (result.error_type, result.retryable) == ("disconnected", True)


def test_a_mistake_names_the_tool_and_the_key() -> None:
    service = Service(port=1)
    with pytest.raises(ConfigError, match="weather: result: not a JMESPath expression"):
        RestSource([tool(service, result="a[")])
    with pytest.raises(ConfigError, match="two tools are named 'weather'"):
        RestSource([tool(service), tool(service)])
    assert "s3cret" not in repr(tool(service))
