"""What is known of one REST tool before it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from vixio.core.tools.types import EMPTY_SCHEMA, ToolOptions

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

WITHOUT_BODY = frozenset({"GET", "DELETE"})

Place = Literal["query", "body"]

DEFAULT_OPTIONS = ToolOptions(timeout=15.0)


@dataclass(frozen=True, slots=True)
class RestToolConfig:
    """One tool. Secrets stand in ``headers`` and ``constants`` and are never shown.

    ``url``: a template with ``{parameter}`` in its path; scheme, host and port are fixed.
    ``parameters``: the JSON Schema that the model sees. ``places``: where a parameter goes that
    does not stand in the path; without an entry into the query of a GET or DELETE and into the JSON
    body of the others. ``body_parameter``: the one that is the whole body. ``constants``: sent with
    every call as if the model had said so, which never sees them. ``result``: a JMESPath expression
    that picks from a JSON answer. ``allow_private``: may the host have an address of this machine
    or of a private network?
    """

    name: str
    description: str
    method: Method
    url: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: dict(EMPTY_SCHEMA))
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    places: Mapping[str, Place] = field(default_factory=dict)
    body_parameter: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict, repr=False)
    result: str = ""
    allow_private: bool = False
    options: ToolOptions = DEFAULT_OPTIONS
