"""Logging in to Pulsar: tokens, and TLS. pulsar-lite has neither, so what it lacks stands before it
or in its place."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.brokers.parts import LIMIT
from tests.support.brokers import BrokerServer
from tests.support.certificates import self_made
from vixio.bus import connect
from vixio.bus.address import BrokerAddress, TlsFiles, parse_address
from vixio.bus.errors import BrokerError

pytest.importorskip("pulsar", exc_type=ImportError)

import pulsar.asyncio
from pulsar import Result
from pulsar.asyncio import PulsarException

from vixio.bus.pulsar_client import FAULTS, explain, make_client

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

REFUSED = b"\x08\x0e\x72\x11\x08\x01\x10\x03\x1a\x0bnot allowed"
"""A ``BaseCommand`` with a ``CommandError`` of PulsarApi.proto: AuthenticationError."""


@asynccontextmanager
async def listening(serve: Serve, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Listen, and return the port."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize(
    ("login", "sent"),
    [("s3cret-token@", b"s3cret-token"), ("alice:s3cret@", b"alice:s3cret")],
)
async def test_the_login_is_sent_and_its_refusal_said(login: str, sent: bytes) -> None:
    heard = bytearray()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.extend(await reader.read(4096))
        size = len(REFUSED)
        writer.write((size + 4).to_bytes(4) + size.to_bytes(4) + REFUSED)
        await reader.read()
        writer.close()

    async with listening(refuse) as port:
        bus = connect(f"pulsar://{login}127.0.0.1:{port}")
        try:
            await bus.start()
            async with asyncio.timeout(LIMIT):
                await bus.ready()
            assert not bus.connected
            assert sent in heard
            assert "check token" in bus.broker.fault
            assert "s3cret" not in bus.broker.fault
        finally:
            await bus.close()


@pytest.mark.parametrize("server", ["pulsar"], indirect=True)
@pytest.mark.parametrize(
    ("name", "trusted", "taken"),
    [("127.0.0.1", True, True), ("127.0.0.1", False, False), ("127.0.0.2", True, False)],
)
async def test_the_certificate_of_the_broker_is_checked(
    server: BrokerServer, url: str, tmp_path: Path, name: str, trusted: bool, taken: bool
) -> None:
    context, certificate = self_made(tmp_path, name)
    async with listening(lambda *ends: pass_on(server.port, *ends), context) as port:
        ca = str(certificate) if trusted else ""
        address = parse_address(f"pulsar+ssl://127.0.0.1:{port}", tls=TlsFiles(ca=ca))
        client = await asyncio.to_thread(make_client, address, *address.hosts)
        try:
            topic = "non-persistent://public/default/tls"
            if taken:
                assert await client.get_topic_partitions(topic) == [topic]
            else:
                with pytest.raises(FAULTS):
                    await client.get_topic_partitions(topic)
        finally:
            await asyncio.to_thread(client.end)


async def pass_on(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Bring what comes over TLS to the broker, and back."""
    there, back = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.TaskGroup() as group:
        group.create_task(copy(reader, back))
        group.create_task(copy(there, writer))


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until one side ends."""
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    tls = TlsFiles(ca=str(tmp_path / "nothing.pem"))
    with pytest.raises(BrokerError, match=r"nothing\.pem"):
        make_client(BrokerAddress("pulsar+ssl", ("127.0.0.1",), tls=tls), "127.0.0.1")


def test_an_address_that_the_library_does_not_know_is_a_refusal() -> None:
    with pytest.raises(BrokerError, match="hostname"):
        make_client(parse_address("pulsar://[::1]:6650"), "[::1]:6650")


def test_what_comes_after_the_end_of_the_event_loop_raises_nothing() -> None:
    """In a thread of the library an exception aborts the process."""
    loop = asyncio.new_event_loop()
    future: asyncio.Future[object] = loop.create_future()
    loop.close()
    pulsar.asyncio._set_future(future, Result.AlreadyClosed, None)
    pulsar.asyncio._set_future_v2(future, object())
    assert not future.done()


async def test_what_comes_after_a_cancellation_is_dropped() -> None:
    loop = asyncio.get_running_loop()
    errors: list[object] = []
    loop.set_exception_handler(lambda _, context: errors.append(context))
    for future, arguments in (
        (loop.create_future(), (Result.Ok, None)),
        (loop.create_future(), (Result.AlreadyClosed, None)),
    ):
        pulsar.asyncio._set_future(future, *arguments)
        pulsar.asyncio._set_future_v2(future, None)
        future.cancel()
    last = loop.create_future()
    pulsar.asyncio._set_future(last, Result.Ok, "value")
    assert await last == "value"
    assert not errors


def test_missing_rights_are_said() -> None:
    error = PulsarException(Result.AuthorizationError, "not allowed to produce")
    words = explain(error, parse_address("pulsar://s3cret@host"))
    assert words.startswith("pulsar://host refuses the login (AuthorizationError: not allowed")
    assert "rights" in words


async def test_the_library_writes_nothing(tmp_path: Path) -> None:
    """Its logger writes to standard output unless it is given another one, once a process."""
    script = (
        "import asyncio\n"
        "from pulsar.asyncio import PulsarException\n"
        "from vixio.bus.address import parse_address\n"
        "from vixio.bus.pulsar_client import make_client\n"
        "async def main():\n"
        "    made = make_client(parse_address('pulsar://s3cret@127.0.0.1'), '127.0.0.1:1')\n"
        "    try: await made.get_topic_partitions('non-persistent://a/b/c')\n"
        "    except PulsarException: pass  # nothing listens there\n"
        "    else: raise SystemExit('connected')\n"
        "    await asyncio.to_thread(made.end)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(LIMIT):
        said, errors = await process.communicate()
    assert process.returncode == 0, errors
    assert said == b""
    assert errors == b""
