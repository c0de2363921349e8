"""At the limit of open files: connections stay, new ones are refused, the loop does not spin."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import socket
import time

import pytest

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.support import BOUND_S, receive_json, running
from vixio.transports.admission import listener
from vixio.transports.admission.listener import (
    MAX_ACCEPTS,
    Listener,
    descriptor_ceiling,
    raise_descriptor_limit,
)
from vixio.transports.xiaozhi.websocket import handshakes

REQUEST = (
    b"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Device-Id: late\r\n\r\n"
)


def dial(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), BOUND_S)


def test_a_few_are_accepted_at_a_time() -> None:
    with Listener("127.0.0.1", 0, lambda: None) as listening:
        listening.listen(256)
        listening.setblocking(False)
        with contextlib.ExitStack() as stack:
            for _ in range(MAX_ACCEPTS + 3):
                stack.enter_context(dial(listening.getsockname()[1]))
            taken = [0, 0]
            for turn in range(2):
                with contextlib.suppress(BlockingIOError):
                    while taken[turn] < 100:
                        stack.enter_context(listening.accept()[0])
                        taken[turn] += 1
            assert taken == [MAX_ACCEPTS, 3]


def test_a_taken_port_leaves_nothing_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="use"):
        Listener("127.0.0.1", taken.getsockname()[1], lambda: None)


def test_without_a_descriptor_they_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []
    with Listener("127.0.0.1", 0, lambda: refused.append(1)) as listening:
        listening.listen(16)
        listening.setblocking(False)
        port = listening.getsockname()[1]
        real = socket.socket.accept
        spare_was_free = []

        def full(self: socket.socket) -> tuple[socket.socket, object]:
            spare_was_free.append(listening._spare is None)
            if listening._spare is not None:
                raise OSError(errno.EMFILE, "no descriptor")
            return real(self)

        monkeypatch.setattr(socket.socket, "accept", full)
        with dial(port) as one, dial(port) as two:
            for _ in range(2):
                with pytest.raises(BlockingIOError):
                    listening.accept()
            assert one.recv(4096).startswith(b"HTTP/1.1 503 ")
            assert two.recv(4096).startswith(b"HTTP/1.1 503 ")
        assert len(refused) == 2
        assert spare_was_free == [False, True] * 2


def test_the_spare_is_kept_when_the_queue_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []
    with Listener("127.0.0.1", 0, lambda: refused.append(1)) as listening:
        listening.listen(16)
        listening.setblocking(False)
        real = socket.socket.accept

        def full(self: socket.socket) -> tuple[socket.socket, object]:
            if listening._spare is not None:  # the limit is reported before the queue is looked at
                raise OSError(errno.EMFILE, "no descriptor")
            return real(self)

        monkeypatch.setattr(socket.socket, "accept", full)
        for _ in range(3):
            with pytest.raises(BlockingIOError):
                listening.accept()
            assert listening._spare is not None
    assert not refused


def test_the_ceiling_leaves_room_for_the_rest() -> None:
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert descriptor_ceiling() in {2**31, soft - 64, soft - soft // 4}
    raise_descriptor_limit()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft <= hard or hard == resource.RLIM_INFINITY


async def test_near_the_limit_connections_stay_and_new_ones_get_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running() as server, server.client("a") as client:
        monkeypatch.setattr(handshakes, "descriptor_ceiling", lambda: 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.transport.port)
        writer.write(REQUEST)
        answer = await asyncio.wait_for(reader.read(), BOUND_S)
        writer.close()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 5" in answer
        assert server.counters.get("admission.limited.descriptors") == 1
        monkeypatch.undo()
        await client.send('{"type":"ping"}')
        assert (await receive_json(client))["type"] == "pong"
        async with server.client("b"):
            pass


async def test_at_the_limit_the_server_neither_dies_nor_spins(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listener, "MAX_RESERVE", 0)  # so that the very last ones are asked for
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with running() as server, server.client("a") as client:
        with contextlib.ExitStack() as stack:
            waiting = [stack.enter_context(socket.socket()) for _ in range(20)]
            resource.setrlimit(resource.RLIMIT_NOFILE, (waiting[-1].fileno() + 20, hard))
            try:
                with contextlib.suppress(OSError):  # until there are none
                    while True:
                        stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
                for sock in waiting:
                    sock.setblocking(False)
                    with contextlib.suppress(BlockingIOError):
                        sock.connect(("127.0.0.1", server.transport.port))
                await until(lambda: server.counters.get("admission.limited.descriptors") == 20)
                began = time.process_time()
                await asyncio.sleep(0.3)  # what is measured is this time itself
                assert time.process_time() - began < 0.2
                await client.send('{"type":"ping"}')
                assert (await receive_json(client))["type"] == "pong"
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        async with server.client("b"):
            pass
    assert not [record for record in caplog.records if record.exc_info]
