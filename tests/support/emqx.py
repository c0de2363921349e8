"""A stand-in for EMQX: what its documentation says of the parts that docs/devices.md configures.

It reads the documented configuration: HTTP authenticator, ACL file, automatic subscription, the
rule that republishes events, the largest packet. Of MQTT 3.1.1 it has QoS 0 and 1, retained
messages, wills, and the take-over of a client id. Sources are named where each part is.
"""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.support.hocon import read
from tests.support.mosquitto import documented
from tests.support.servers import free_port

SERVER = ("vixio-server", "of-the-server")
SECRET = "a secret of the authenticator"


@dataclass(eq=False)
class Client:
    """One connection."""

    id: str
    user: str
    peername: str
    writer: asyncio.StreamWriter
    will: tuple[str, bytes, bool] | None = None
    filters: set[str] = field(default_factory=set)

    def send(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        self.writer.write(packet(0x31 if retain else 0x30, string(topic), payload))


class Emqx:
    """One broker, on loopback. ``config`` and ``rules``: as documented."""

    def __init__(self) -> None:
        self.config = read(documented("emqx.conf"))
        self.rules = list(acl(documented("vixio.acl.conf")))
        self.port = free_port()
        self.server_http = ""
        """The root of the URL of the server, which stands for that in the configuration."""
        self.clients: dict[str, Client] = {}
        self.retained: dict[str, bytes] = {}
        self.denied: list[tuple[str, str, str]] = []
        """Client id, action and topic of what the rules forbade."""
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"mqtt://127.0.0.1:{self.port}"

    def section(self) -> dict[str, Any]:
        """Return the section ``mqtt.broker`` for it."""
        return {
            "url": self.url,
            "front": False,
            "username": SERVER[0],
            "password": SERVER[1],
            "secret": SECRET,
        }

    async def start(self) -> None:
        """Listen; retained messages are gone, as with storage in memory."""
        self.retained.clear()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def stop(self) -> None:
        """End it, and all connections at once. Idempotent."""
        if self._server is not None:
            self._server.close()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._server.wait_closed()
            self._server = None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        client: Client | None = None
        try:
            client = await self._login(reader, writer)
            if client is not None:
                await self._serve(client, reader)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, asyncio.CancelledError):
            pass  # ValueError: a malformed packet closes the connection
        finally:
            self._tasks.discard(task)
            writer.transport.abort()
            if client is not None and self.clients.get(client.id) is client:
                self._gone(client)

    async def _login(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Client | None:
        first, body = await self._packet(reader)
        if first != 0x10:
            raise ValueError("no CONNECT")
        fields = Fields(body)
        fields.text(), fields.take(1)
        flags = fields.take(1)[0]
        fields.number()
        client_id = fields.text()
        will = (fields.text(), fields.binary(), bool(flags & 0x20)) if flags & 0x04 else None
        user = fields.text() if flags & 0x80 else ""
        password = fields.text() if flags & 0x40 else ""
        peer = writer.get_extra_info("peername")
        values = {
            "clientid": client_id,
            "username": user,
            "password": password,
            "peerhost": peer[0],
        }
        code = await self._authenticate(values)
        writer.write(bytes((0x20, 2, 0, code)))
        if code:
            await writer.drain()
            writer.close()
            return None
        # The older connection of a client id ends, and its event comes, before the new one's
        # (emqx_cm: takeover or discard is a call).
        if (older := self.clients.get(client_id)) is not None:
            self._gone(older)
            older.writer.transport.abort()
        client = Client(client_id, user, f"{peer[0]}:{peer[1]}", writer, will)
        self.clients[client_id] = client
        for each in self.config["auto_subscribe"]["topics"]:
            self._subscribe(client, fill(each["topic"], values))
        self._event("client.connected", client)
        return client

    async def _authenticate(self, values: dict[str, str]) -> int:
        """The HTTP authenticator: 200 and ``result``; any other status is ``ignore``."""
        if not self.config["authentication"]:
            return 0  # without an authenticator everybody is admitted
        (how,) = self.config["authentication"]
        assert (how["mechanism"], how["backend"], how["method"]) == (
            "password_based",
            "http",
            "post",
        )
        _, _, path = how["url"].partition("/mqtt")
        request = urllib.request.Request(  # noqa: S310
            f"{self.server_http}/mqtt{path}",
            json.dumps({key: fill(value, values) for key, value in how["body"].items()}).encode(),
            {key: value.replace("SECRET", SECRET) for key, value in how["headers"].items()},
        )

        def ask() -> dict[str, Any]:
            with suppress(OSError), urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
                found = json.load(answer)
                assert isinstance(found, dict)
                return found
            return {"result": "ignore"}

        result = (await asyncio.to_thread(ask))["result"]
        return {"allow": 0, "deny": 4}.get(result, 5)

    async def _serve(self, client: Client, reader: asyncio.StreamReader) -> None:
        while True:
            first, body = await self._packet(reader)
            fields = Fields(body)
            match first >> 4:
                case 3:
                    self._published(client, first, fields)
                case 8:
                    number, codes = fields.take(2), b""
                    while fields.left:
                        topic = fields.text()
                        fields.take(1)
                        allowed = self._may(client, "subscribe", topic)
                        codes += b"\0" if allowed else b"\x80"
                        if allowed:
                            self._subscribe(client, topic)
                    if not codes:  # [MQTT-3.8.3-3]
                        raise ValueError("no topic")
                    client.writer.write(packet(0x90, number, codes))
                case 12:
                    client.writer.write(b"\xd0\0")
                case 14:
                    client.will = None
                    return
                case _:
                    raise ValueError("unexpected packet")

    def _published(self, client: Client, first: int, fields: Fields) -> None:
        topic, qos = fields.text(), first >> 1 & 3
        number = fields.take(2) if qos else b""
        if qos > 1 or not topic or set("+#") & set(topic):
            raise ValueError("malformed")
        if not self._may(client, "publish", topic):
            if self.config["authorization"]["deny_action"] == "disconnect":
                raise ValueError("not allowed")
            return
        if qos:
            client.writer.write(packet(0x40, number))
        self.route(topic, fields.take(fields.left), retain=bool(first & 1))

    def route(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Deliver a message, and keep it."""
        if retain:
            self.retained[topic] = payload
        for client in self.clients.values():
            if any(matches(topic, each) for each in client.filters):
                client.send(topic, payload)

    def _subscribe(self, client: Client, topic: str) -> None:
        client.filters.add(topic)
        for name, payload in self.retained.items():
            if matches(name, topic):
                client.send(name, payload, retain=True)

    def _may(self, client: Client, action: str, topic: str) -> bool:
        """The ACL file, from above (emqx_authz_rule: ``eq`` has no placeholders)."""
        values = {"clientid": client.id, "username": client.user}
        for permission, user, what, topics in self.rules:
            if user in {None, client.user} and what in {"all", action}:
                for each in topics:
                    exact, pattern = each
                    if topic == pattern if exact else matches(topic, fill(pattern, values)):
                        if permission == "deny":
                            self.denied.append((client.id, action, topic))
                        return permission == "allow"
        self.denied.append((client.id, action, topic))
        return bool(self.config["authorization"]["no_match"] == "allow")

    def _gone(self, client: Client) -> None:
        if self.clients.get(client.id) is client:
            del self.clients[client.id]
        if client.will is not None and self._may(client, "publish", client.will[0]):
            self.route(client.will[0], client.will[1], retain=client.will[2])
        self._event("client.disconnected", client)

    def _event(self, event: str, client: Client) -> None:
        """The rule engine: an event is republished."""
        values = {
            "event": event,
            "clientid": client.id,
            "username": client.user,
            "peername": client.peername,
        }
        for rule in self.config["rule_engine"]["rules"].values():
            if f'"$events/{event.replace(".", "_")}"' in rule["sql"]:
                for action in rule["actions"]:
                    assert action["function"] == "republish"
                    args = action["args"]
                    self.route(
                        fill(args["topic"], values),
                        fill(args["payload"], values).encode(),
                        retain=args["retain"],
                    )

    async def _packet(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        first, size, shift = (await reader.readexactly(1))[0], 0, 0
        while True:
            byte = (await reader.readexactly(1))[0]
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift > 21:
                raise ValueError("malformed")
        most = int(self.config["mqtt"]["max_packet_size"].removesuffix("KB")) * 1024
        if size > most:
            raise ValueError("too large")
        return first, await reader.readexactly(size)


class Fields:
    """The fields of a packet's body, in order. Raises ValueError."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    @property
    def left(self) -> int:
        return len(self._body)

    def take(self, size: int) -> bytes:
        if size > len(self._body):
            raise ValueError("short")
        taken, self._body = self._body[:size], self._body[size:]
        return taken

    def number(self) -> int:
        return int.from_bytes(self.take(2), "big")

    def binary(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        return self.binary().decode()


def string(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(2, "big") + data


def packet(first: int, *parts: bytes) -> bytes:
    body, head = b"".join(parts), bytes([first])
    size = len(body)
    while size >= 128:
        head += bytes([size % 128 + 128])
        size //= 128
    return head + bytes([size]) + body


def fill(template: str, values: dict[str, str]) -> str:
    """Fill placeholders: ``${name}``."""
    return re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], template)


def matches(topic: str, pattern: str) -> bool:
    """Whether a topic, or a filter, matches a filter (§4.7)."""
    words, wanted = topic.split("/"), pattern.split("/")
    for number, each in enumerate(wanted):
        if each == "#":
            return True
        if number >= len(words) or (each not in {"+", words[number]}):
            return False
        if each == "+" and words[number] == "#":
            return False
    return len(words) == len(wanted)


Rule = tuple[str, str | None, str, list[tuple[bool, str]]]
"""Permission, user (None: all), action, and topics: whether exactly, and the filter."""


def acl(text: str) -> Iterator[Rule]:
    """Read an ACL file, as far as the documented one goes."""
    for line in text.splitlines():
        if line == "{deny, all}.":
            yield "deny", None, "all", [(False, "#")]
            continue
        found = re.fullmatch(
            r'\{(allow|deny), (?:all|\{user, "([^"]+)"\}), (publish|subscribe|all), \[(.+)\]\}\.',
            line,
        )
        assert found is not None, line
        topics = re.findall(r'\{eq, "([^"]+)"\}|"([^"]+)"', found[4])
        yield found[1], found[2], found[3], [(bool(eq), eq or plain) for eq, plain in topics]
