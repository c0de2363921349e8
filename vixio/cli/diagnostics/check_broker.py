"""Tries a broker of the operator's own: whether its users may do what they have to, and no more."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Final

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError
from vixio.composition.ports import broker_address
from vixio.core.errors import ConfigError
from vixio.settings.mqtt import BrokerSection
from vixio.transports.admission.identity import UP_TOPIC
from vixio.transports.xiaozhi.mqtt.broker import BrokerConnection, dial
from vixio.transports.xiaozhi.mqtt.direct import PRESENCE_TOPIC
from vixio.transports.xiaozhi.mqtt.link import DOWN_TOPIC
from vixio.transports.xiaozhi.mqtt.packets import Connect, publish

TRY_S: Final = 10.0
ARRIVE_S: Final = 2.0
"""For a message that is expected."""
RULES: Final = "see its rules in docs/devices.md"


async def try_broker(broker: BrokerSection) -> str:
    """Return what was found. Raises ConfigError if the broker forbids too much or too little."""
    address = broker_address(broker)
    try:
        async with asyncio.timeout(TRY_S), AsyncExitStack() as stack:
            trial = _Trial(address, stack)
            await (_try_front(trial, broker) if broker.front else _try_direct(trial, broker))
    except TimeoutError:
        raise ConfigError(f"the broker {address} does not answer within {TRY_S:g} s") from None
    except OSError as error:
        raise ConfigError(f"cannot connect to the broker {address}: {error}") from None
    return f"broker {address}: logged in, and its rules keep devices apart"


class _Client:
    def __init__(self) -> None:
        self.connection: BrokerConnection
        self.got: list[tuple[str, bytes]] = []
        self.gone = False

    def send(self, topic: str, payload: bytes) -> None:
        self.connection.send(publish(topic.encode(), payload))

    async def hears(self, topic: str, payload: bytes) -> bool:
        """Return whether the message comes."""
        until = asyncio.get_running_loop().time() + ARRIVE_S
        while (topic, payload) not in self.got and not self.gone:
            if asyncio.get_running_loop().time() > until:
                return False
            await asyncio.sleep(0.02)
        return (topic, payload) in self.got

    def lost(self, _why: str) -> None:
        self.gone = True


class _Trial:
    def __init__(self, address: BrokerAddress, stack: AsyncExitStack) -> None:
        self.address = address
        self._stack = stack

    async def join(self, name: str, user: str, password: str, topics: Sequence[str]) -> _Client:
        """Log a client in. Raises BrokerError, OSError."""
        client, login = _Client(), Connect(name, user, password, 0)
        make: Callable[[], BrokerConnection] = lambda: BrokerConnection(  # noqa: E731
            login,
            topics,
            lambda message: client.got.append((message.topic, message.payload)),
            client.lost,
        )
        client.connection = await dial(self.address, make)
        self._stack.callback(client.connection.close)
        return client

    async def server(self, *topics: str) -> _Client:
        """Log in as the server. Raises ConfigError, OSError."""
        address = self.address
        try:
            return await self.join(name(), address.user, address.password, topics)
        except BrokerError as error:
            raise ConfigError(f"as the server, {address.user}: {error}; {RULES}") from None


def name() -> str:
    """Return a client id that no device has."""
    return f"vixio-check-{secrets.token_hex(6)}"


async def _try_front(trial: _Trial, broker: BrokerSection) -> None:
    user, password = broker.device_username, broker.device_password.get_secret_value()
    own, other, spying = name(), name(), name()
    server = await trial.server(f"{UP_TOPIC}+")
    try:
        device = await trial.join(own, user, password, [DOWN_TOPIC + own])
        victim = await trial.join(other, user, password, [DOWN_TOPIC + other])
    except BrokerError as error:
        raise ConfigError(f"as a device, {user}: {error}; {RULES}") from None
    server.send(DOWN_TOPIC + own, b"to the device")
    if not await device.hears(DOWN_TOPIC + own, b"to the device"):
        raise ConfigError(
            f"the broker keeps {broker.username} from writing {DOWN_TOPIC}+, or {user} from "
            f"reading {DOWN_TOPIC} and its own client id; {RULES}"
        )
    device.send(UP_TOPIC + own, b"from the device")
    if not await server.hears(UP_TOPIC + own, b"from the device"):
        raise ConfigError(
            f"the broker keeps {user} from writing {UP_TOPIC} and its own client id, or "
            f"{broker.username} from reading it; {RULES}"
        )
    for topic in (DOWN_TOPIC + other, f"{DOWN_TOPIC}+", f"{UP_TOPIC}+", "#"):
        try:
            spy = await trial.join(spying, user, password, [DOWN_TOPIC + spying, topic])
        except BrokerError:
            continue  # refused, as it should be
        server.send(DOWN_TOPIC + other, b"for another")
        await victim.hears(DOWN_TOPIC + other, b"for another")
        device.send(UP_TOPIC + own, b"of another")
        await server.hears(UP_TOPIC + own, b"of another")
        server.send(DOWN_TOPIC + spying, b"mark")
        await spy.hears(DOWN_TOPIC + spying, b"mark")
        if any(heard != DOWN_TOPIC + spying for heard, _ in spy.got):
            raise ConfigError(f"the broker lets {user} read {topic}, with others' words; {RULES}")
    for topic in (UP_TOPIC + other, DOWN_TOPIC + other):
        spy = await trial.join(spying, user, password, [DOWN_TOPIC + spying])
        spy.send(topic, b"in the name of another")
        spy.send(UP_TOPIC + spying, b"mark")
        await server.hears(UP_TOPIC + spying, b"mark")
        server.send(DOWN_TOPIC + other, b"mark")
        await victim.hears(DOWN_TOPIC + other, b"mark")
        if any(words == b"in the name of another" for _, words in (*server.got, *victim.got)):
            raise ConfigError(f"the broker lets {user} write {topic}, another's; {RULES}")
        server.got.clear()
        victim.got.clear()


async def _try_direct(trial: _Trial, broker: BrokerSection) -> None:
    try:
        # The server admits no such client id, whatever it asks of devices.
        await trial.join("vixio/check", "nobody", secrets.token_hex(8), [])
    except BrokerError:
        pass  # refused, as it should be
    else:
        raise ConfigError(f"the broker admits clients without asking the server; {RULES}")
    try:
        await trial.server(f"{UP_TOPIC}+", f"{PRESENCE_TOPIC}+")
    except ConfigError as error:
        raise ConfigError(f"{error}. The server has to run: the broker asks it") from None
