"""The key ``context`` of a profile: what is asked when a conversation begins, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, TypeAdapter, WithJsonSchema, model_validator

from vixio.core.moment import DEFAULT_EVERY_S, MAX_SOURCES, ContextSource, ContextSources
from vixio.providers.faults import fault
from vixio.settings.sections import Section
from vixio.tools.rest.settings import check_result
from vixio.tools.source_settings import Headers, revealed

LEAST_S: Final = 10
MOST_S: Final = 86_400
"""Between two questions to a source."""

Text = Annotated[str, Field(max_length=2_000)]


class ContextSection(Section):
    """One source."""

    url: Text = ""
    headers: Headers = Field(default_factory=dict, max_length=20)
    mcp: Text = ""
    resource: Text = ""
    result: Text = ""
    text: Annotated[str, Field(max_length=200)] = ""
    every: float = Field(default=DEFAULT_EVERY_S, allow_inf_nan=False)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.url) == bool(self.mcp):
            both = "both" if self.url else "none of them"
            raise ValueError(
                f"expected either url (an address) or mcp (a server of mcp_servers), not {both}"
            )
        if bool(self.mcp) != bool(self.resource):
            missing = "resource: its URI at that server" if self.mcp else "mcp: the server's name"
            raise ValueError(f"mcp and resource belong together; expected {missing}")
        if self.headers and self.mcp:
            raise ValueError("headers belong to a url; those of an MCP server are in mcp_servers")
        if self.url:
            _check_url(self.url)
        if not LEAST_S <= self.every <= MOST_S:
            raise ValueError(f"expected every from {LEAST_S} to {MOST_S} seconds")
        if self.text and "{value}" not in self.text:
            raise ValueError("expected {value} in text, such as: {value} degrees")
        check_result(self.result)
        return self


def _check_url(url: str) -> None:
    """Raise ValueError, one line, without the address: it may hold a secret."""
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, right = None, False
    if parts is None or not right:
        raise ValueError(
            "expected a url such as http://192.168.1.5:8123/state, with http:// or https://"
        )
    if parts.username or parts.password:
        raise ValueError("expected a url without user and password; set a header")


_ENTRIES: Final = TypeAdapter(dict[Annotated[str, Field(min_length=1, max_length=60)], Any])


def _read(value: object) -> ContextSources:
    """Return the sources of a mapping from names to sections, or to addresses alone."""
    if isinstance(value, ContextSources):
        return value
    entries = _ENTRIES.validate_python(value)
    if len(entries) > MAX_SOURCES:
        raise ValueError(f"expected at most {MAX_SOURCES} sources, found {len(entries)}")
    found = []
    for name, entry in entries.items():
        if not name.isprintable() or not name.strip():
            raise fault("expected a name of printable characters", name)
        given = {"url": entry} if isinstance(entry, str) else entry
        if not isinstance(given, Mapping):
            raise fault("expected an address, or url or mcp with further keys", name)
        section = SECTIONS.validate_python({name: given})[name]
        headers = tuple(revealed(section.headers).items())
        rest = section.model_dump(exclude={"headers"})
        found.append(ContextSource(name.strip(), headers=headers, private=True, **rest))
    return ContextSources(tuple(found))


SECTIONS: Final = TypeAdapter(dict[str, ContextSection])

READ_CONTEXT: Final = Annotated[
    ContextSources,
    BeforeValidator(_read),
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": MAX_SOURCES,
            "additionalProperties": {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {
                            **{
                                key: {"type": "string"}
                                for key in ("url", "mcp", "resource", "result", "text")
                            },
                            "headers": {
                                "type": "object",
                                "additionalProperties": {"type": "string"},
                            },
                            "every": {"type": "number", "minimum": LEAST_S, "maximum": MOST_S},
                        },
                    },
                ]
            },
        }
    ),
]
"""Of a value in a file, for pydantic."""


def public_only(context: ContextSources) -> ContextSources:
    """Return sources that somebody other than the operator gave: no private addresses."""
    return ContextSources(tuple(replace(each, private=False) for each in context.sources))
