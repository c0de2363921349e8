"""Logins and TLS of NATS: what the settings say reaches the server, and a refusal is one line."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.brokers.parts import LIMIT, ask, echo, serving
from tests.support.brokers import NatsServer, make_server
from tests.support.certificates import self_made
from tests.support.servers import free_port
from tests.support.waiting import until
from vixio.bus import connect
from vixio.bus.address import TlsFiles, parse_address

Start = Callable[..., NatsServer]

LOGIN = ("--user", "alice", "--pass", "s3cret")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return what starts a NATS server with further arguments."""
    running: list[NatsServer] = []

    def run(*arguments: str) -> NatsServer:
        server = make_server("nats", tmp_path)
        assert isinstance(server, NatsServer)
        server.arguments = arguments
        server.start()
        running.append(server)
        return server

    yield run
    for server in running:
        server.kill()


def tls(folder: Path, *more: str) -> tuple[tuple[str, ...], TlsFiles]:
    """Return the arguments of a server with a certificate, and the files of its clients."""
    _, certificate = self_made(folder)
    cert, key = str(certificate), str(folder / "server.key")
    arguments = ("--tls", "--tlscert", cert, "--tlskey", key, *more)
    return arguments, TlsFiles(ca=cert, cert=cert if more else "", key=key if more else "")


async def works(url: str, **options: object) -> None:
    bus = connect(parse_address(url, **options))  # type: ignore[arg-type]
    try:
        await bus.start()
        await until(lambda: bus.connected, what="the broker", seconds=LIMIT)
        async with serving(bus, "request:tg:login", echo):
            assert json.loads(await ask(bus, "request:tg:login", a=1))[2] == {"a": 1}
    finally:
        await bus.close()


async def refusal(url: str, **options: object) -> str:
    bus = connect(parse_address(url, **options))  # type: ignore[arg-type]
    try:
        await bus.start()
        async with asyncio.timeout(LIMIT):
            await bus.ready()
        assert not bus.connected
        return bus.broker.fault
    finally:
        await bus.close()


async def test_a_user_and_a_password(start: Start) -> None:
    server = start(*LOGIN)
    host = f"127.0.0.1:{server.port}"
    await works(f"nats://alice:s3cret@{host}")
    await works(f"nats://{host}", user="alice", password="s3cret")
    for login in ({}, {"user": "alice", "password": "wr0ng"}, {"token": "wr0ng"}):
        line = await refusal(f"nats://{host}", **login)
        assert line == (
            f"nats://{host} refuses the login: check user, password, token or credentials"
        )


async def test_a_token(start: Start) -> None:
    server = start("--auth", "t0ken")
    await works(f"nats://t0ken@127.0.0.1:{server.port}")
    await works(server.url, token="t0ken")


async def test_tls_with_an_authority_of_ones_own(start: Start, tmp_path: Path) -> None:
    arguments, files = tls(tmp_path)
    server = start(*arguments)
    url = f"tls://127.0.0.1:{server.port}"
    await works(url, tls=files)
    assert "certificate verify failed" in await refusal(url)


async def test_a_certificate_of_the_client(start: Start, tmp_path: Path) -> None:
    arguments, files = tls(tmp_path, "--tlsverify", "--tlscacert", str(tmp_path / "server.crt"))
    server = start(*arguments)
    await works(f"tls://127.0.0.1:{server.port}", tls=files)
    assert await refusal(f"tls://127.0.0.1:{server.port}", tls=TlsFiles(ca=files.ca))


# nats-py 2.16 passes aiohttp a parameter that is going to change.
@pytest.mark.filterwarnings("ignore:parameter 'timeout':DeprecationWarning")
async def test_websockets(start: Start, tmp_path: Path) -> None:
    port = free_port()
    config = tmp_path / "websocket.conf"
    config.write_text(f'websocket {{ listen: "127.0.0.1:{port}", no_tls: true }}', "utf-8")
    server = start(*LOGIN, "-c", str(config))
    await works(f"ws://alice:s3cret@127.0.0.1:{port}")
    assert "refuses the login" in await refusal(f"ws://127.0.0.1:{port}")
    server.kill()
    line = await refusal(f"ws://127.0.0.1:{port}")
    assert line.startswith(f"ws://127.0.0.1:{port} does not answer: ")
    gc.collect()  # what was left open would warn, and warnings are errors


async def test_a_missing_file_is_named(start: Start) -> None:
    server = start()
    line = await refusal(f"tls://127.0.0.1:{server.port}", tls=TlsFiles(ca="none.pem"))
    assert line.startswith("cannot read the TLS files none.pem: ")
