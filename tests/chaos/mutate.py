"""Recordings of what devices really sent, and ways to spoil them."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.chaos.patience import admitted
from tests.chaos.raw import BINARY, TEXT
from tests.chaos.voice import Speaker

Message = tuple[int, bytes]
"""Opcode and payload of one WebSocket message."""

_WORDS: Final[tuple[Any, ...]] = (
    None,
    True,
    "",
    0,
    -1,
    2**31,
    2**63,
    -(2**200),
    1e308,
    0.1,
    "\ud800",
    "\x00",
    "x" * 5_000,
    [],
    {},
    [[[]]],
    {"": {"": {}}},
    "start",
    "stop",
    "detect",
    "hello",
    "listen",
    "mcp",
    "abort",
    "realtime",
    "manual",
)


async def record(ws_url: str, version: Literal[1, 2, 3], index: int) -> list[Message]:
    """Hold a spoken and a typed turn and return every message that the device sent."""
    config = DeviceConfig(ws_url=ws_url, device_id=f"recorded-{version}", version=version)
    device = SimulatedDevice(config)
    recorded: list[Message] = []
    protocol = device._app.protocol
    on_sent = protocol.on_sent

    def keep(data: str | bytes) -> None:
        recorded.append((TEXT, data.encode()) if isinstance(data, str) else (BINARY, bytes(data)))
        on_sent(data)

    protocol.on_sent = keep  # type: ignore[method-assign]  # the recorder's one place
    try:
        await device.boot()
        await admitted(device.connect)
        _, sound = await (await Speaker.create(index)).next()
        await device.ask(sound)
        await device.type_text("number 7")
        await device.abort()
        await device.press()
        await device.release()
    finally:
        await device.close()
    return recorded


class Mutator:
    """Spoils messages, each time by one of many ways, the same for the same seed."""

    def __init__(self, recorded: Sequence[Message], seed: int) -> None:
        self._recorded = list(recorded)
        self._random = random.Random(seed)
        self._ways: tuple[Callable[[Message], Message], ...] = (
            self._flip_bits,
            self._cut,
            self._stretch,
            self._splice,
            self._other_kind,
            self._other_header,
            self._other_value,
            self._other_value,
            self._noise,
            self._same,
            self._same,
        )

    def conversation(self) -> list[Message]:
        """Return a spoiled copy of the whole recording, its hello left alone."""
        rest = self._recorded[1:]
        spoiled = [self._random.choice(self._ways)(message) for message in rest]
        for _ in range(len(spoiled) // 10):  # some in the wrong order, some twice
            a, b = self._random.randrange(len(spoiled)), self._random.randrange(len(spoiled))
            spoiled[a], spoiled[b] = spoiled[b], spoiled[self._random.choice((a, b))]
        return spoiled

    @property
    def hello(self) -> dict[str, Any]:
        """The recorded hello."""
        body: dict[str, Any] = json.loads(self._recorded[0][1])
        return body

    def _same(self, message: Message) -> Message:
        return message

    def _flip_bits(self, message: Message) -> Message:
        data = bytearray(message[1])
        for _ in range(self._random.randrange(1, 8)):
            if data:
                data[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)
        return message[0], bytes(data)

    def _cut(self, message: Message) -> Message:
        return message[0], message[1][: self._random.randrange(len(message[1]) + 1)]

    def _stretch(self, message: Message) -> Message:
        at = self._random.randrange(len(message[1]) + 1)
        more = self._random.randbytes(self._random.choice((1, 7, 300, 4_000)))
        return message[0], message[1][:at] + more + message[1][at:]

    def _splice(self, message: Message) -> Message:
        other = self._random.choice(self._recorded)[1]
        at = self._random.randrange(len(message[1]) + 1)
        return message[0], message[1][:at] + other[self._random.randrange(len(other) + 1) :]

    def _other_kind(self, message: Message) -> Message:
        return (BINARY if message[0] == TEXT else TEXT), message[1]

    def _other_header(self, message: Message) -> Message:
        payload = message[1]
        size = self._random.choice((0, 1, len(payload), 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF))
        version_2 = struct.pack(">HHIII", 2, self._random.choice((0, 1, 9)), 0, 5, size)
        version_3 = struct.pack(">BBH", self._random.choice((0, 1, 255)), 0, size & 0xFFFF)
        return BINARY, self._random.choice((version_2, version_3, b"")) + payload

    def _other_value(self, message: Message) -> Message:
        try:
            body = json.loads(message[1])
        except ValueError:
            return self._noise(message)
        self._spoil(body)
        return TEXT, json.dumps(body).encode()

    def _spoil(self, body: Any) -> None:  # noqa: ANN401  any JSON value
        keys = list(body) if isinstance(body, dict) else list(range(len(body)))
        if not keys:
            return
        key = self._random.choice(keys)
        if isinstance(body[key], dict | list) and body[key] and self._random.random() < 0.7:
            self._spoil(body[key])
        elif isinstance(body, dict) and self._random.random() < 0.2:
            del body[key]
        else:
            body[key] = self._random.choice(_WORDS)

    def _noise(self, message: Message) -> Message:
        return message[0], self._random.randbytes(self._random.choice((0, 1, 2, 3, 40, 900)))
