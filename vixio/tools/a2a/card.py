"""Reads agent cards of A2A 1.0 and 0.3, and chooses the interface to use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from vixio.core.errors import ToolError
from vixio.tools.a2a.protocol import Binding, Endpoint, clean
from vixio.tools.rest.client import is_same_service

CARD_PATH = "/.well-known/agent-card.json"

MAX_SKILLS = 1_000
"""That are read; fewer become tools."""

MAX_NAME_CHARS = 256
MAX_EXAMPLES = 3
MAX_EXAMPLE_CHARS = 200
MAX_WORDS_CHARS = 4_000
"""Of a description in the card; the tool's own is shorter."""

_MAX_INTERFACES = 32
_BINDINGS: Mapping[str, Binding] = {"JSONRPC": "jsonrpc", "HTTP+JSON": "http+json"}


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill of an agent. ``id``: unique in its card."""

    id: str
    name: str
    description: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentCard:
    """What a caller uses of a card."""

    name: str
    description: str
    endpoint: Endpoint
    streaming: bool
    skills: tuple[Skill, ...]


def card_url(url: str) -> str:
    """Return where the card of the agent at ``url`` is."""
    path = urlsplit(url).path
    return url if path.endswith(".json") else f"{url.rstrip('/')}{CARD_PATH}"


def read_card(card: object, url: str) -> AgentCard:
    """Read the card that was found at ``url``. Raises ToolError, one line, if it cannot be used.

    The agent's interface must be on the card's own host: it gets the credentials.
    """
    if not isinstance(card, Mapping):
        raise ToolError("failed", "its card is not a JSON object")
    capabilities = card.get("capabilities")
    streaming = isinstance(capabilities, Mapping) and capabilities.get("streaming") is True
    return AgentCard(
        _line(card.get("name"))[:MAX_NAME_CHARS],
        _line(card.get("description"))[:MAX_WORDS_CHARS],
        _endpoint(card, url),
        streaming,
        tuple(_skills(card.get("skills"))),
    )


def _endpoint(card: Mapping[str, Any], url: str) -> Endpoint:
    spoken: set[str] = set()
    usable: list[Endpoint] = []
    elsewhere = ""
    for endpoint, transport in _interfaces(card, url):
        if endpoint is None:
            spoken.add(transport)
        elif is_same_service(urlsplit(endpoint.url), urlsplit(url)):
            usable.append(endpoint)
        else:
            elsewhere = urlsplit(endpoint.url).netloc[:MAX_NAME_CHARS]
    if usable:
        return min(usable, key=_preference)
    if elsewhere:
        raise ToolError(
            "denied",
            f"its card names another host ({elsewhere}), which gets no credentials: "
            "set the public URL in the agent's card, or url to the host in the card",
        )
    kinds = ", ".join(sorted(spoken)) or "none"
    raise ToolError(
        "failed", f"its card has no JSONRPC or HTTP+JSON interface of A2A 1.0 or 0.3 (has: {kinds})"
    )


def _preference(endpoint: Endpoint) -> tuple[bool, bool]:
    return endpoint.old, endpoint.binding != "jsonrpc"


def _interfaces(card: Mapping[str, Any], url: str) -> Iterator[tuple[Endpoint | None, str]]:
    """Yield each interface, None for one that cannot be used, and its transport."""
    for entry in _entries(card):
        transport = _line(entry.get("protocolBinding") or entry.get("transport"))[:40]
        binding = _BINDINGS.get(transport.upper())
        version = _line(entry.get("protocolVersion"))
        old = version.startswith("0.")
        known = version.startswith(("1.", "0.3")) or version in {"", "1"}
        target = entry.get("url")
        if binding is None or not known or (old and binding != "jsonrpc"):
            yield None, f"{transport or 'unknown'} {version}".strip()[:60]
        elif isinstance(target, str) and (whole := _absolute(url, target)):
            tenant = clean(entry.get("tenant"))[:MAX_NAME_CHARS]
            yield Endpoint(whole, binding, "0.3" if old else "1.0", tenant), transport


def _entries(card: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    several = card.get("supportedInterfaces")
    if isinstance(several, list) and several:
        yield from (each for each in several[:_MAX_INTERFACES] if isinstance(each, Mapping))
        return
    # 0.3: the main interface in the card itself, further ones beside it.
    version = _line(card.get("protocolVersion")) or "0.3"
    transport = card.get("preferredTransport") or "JSONRPC"
    yield {"url": card.get("url"), "transport": transport, "protocolVersion": version}
    more = card.get("additionalInterfaces")
    for each in (more if isinstance(more, list) else [])[:_MAX_INTERFACES]:
        if isinstance(each, Mapping):
            yield {**each, "protocolVersion": version}


def _absolute(base: str, target: str) -> str:
    """Return the URL of an interface; empty if it is none."""
    try:
        whole = urljoin(base, target.strip())
        parts = urlsplit(whole)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return ""
    if not usable or parts.username or parts.password or len(whole) > 2_000:
        return ""
    return whole if whole.isascii() and whole.isprintable() and " " not in whole else ""


def _skills(skills: object) -> Iterator[Skill]:
    for skill in (skills if isinstance(skills, list) else [])[:MAX_SKILLS]:
        if not isinstance(skill, Mapping):
            continue
        name = _line(skill.get("name"))[:MAX_NAME_CHARS]
        key = _line(skill.get("id"))[:MAX_NAME_CHARS] or name
        if key:
            description = _line(skill.get("description"))[:MAX_WORDS_CHARS]
            yield Skill(key, name or key, description, tuple(_examples(skill.get("examples"))))


def _examples(examples: object) -> Sequence[str]:
    given = examples if isinstance(examples, list) else []
    lines = (_line(each) for each in given[:MAX_EXAMPLES])
    return [line for line in lines if 0 < len(line) <= MAX_EXAMPLE_CHARS]


def _line(value: object) -> str:
    """Return a string as one line of bounded length; empty for others."""
    return " ".join(clean(value)[: 2 * MAX_WORDS_CHARS].split())
