"""What an assistant is told of the moment: sources that are asked when a conversation begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_SOURCES: Final = 8
"""Of one profile."""

MAX_CHARS: Final = 600
"""Of what one source contributes to the instructions."""

DEFAULT_EVERY_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class ContextSource:
    """An address, or a resource of an MCP server, and what of its answer is wanted.

    ``name``: what the answer is called, for the model. ``headers``: pairs, which may be secret.
    ``result``: JMESPath into JSON; empty: all of it. ``text``: what stands for the answer, with
    ``{value}`` in it; empty: the answer alone. ``every``: seconds for which an answer is fresh.
    ``private``: whether addresses that are not of the public internet are allowed.
    """

    name: str
    url: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    mcp: str = ""
    """The name of a server of the section ``mcp_servers``."""
    resource: str = ""
    """Its URI at that server."""
    result: str = ""
    text: str = ""
    every: float = DEFAULT_EVERY_S
    private: bool = False

    def told(self, value: str) -> str:
        """Return an answer as the model gets it: one line of printable text of bounded length."""
        value = _one_line(value)
        words = _one_line(self.text).replace("{value}", value) if self.text else value
        return words if len(words) <= MAX_CHARS else words[: MAX_CHARS - 1].rstrip() + "…"

    def given(self) -> dict[str, Any]:
        """Return it as it stands in a file, below its name, with all that differs from a default.
        Its headers are in it."""
        found: dict[str, Any] = {
            "url": self.url,
            "headers": dict(self.headers),
            "mcp": self.mcp,
            "resource": self.resource,
            "result": self.result,
            "text": self.text,
        }
        found = {key: value for key, value in found.items() if value}
        return found if self.every == DEFAULT_EVERY_S else {**found, "every": self.every}


@dataclass(frozen=True, slots=True)
class ContextSources:
    """Those of a profile. Hashable, for equal profiles are one."""

    sources: tuple[ContextSource, ...] = ()

    def given(self) -> Mapping[str, Any]:
        """Return them as they stand in a file, by name."""
        return {each.name: each.given() for each in self.sources}


NO_CONTEXT: Final = ContextSources()


def _one_line(text: str) -> str:
    """Return ``text`` without control and format characters, and with single spaces."""
    spaced = " ".join(text.split())
    return "".join(each for each in spaced if each.isprintable())
