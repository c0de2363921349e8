"""The configuration of one REST tool."""

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
    """One tool. ``headers`` and ``constants`` may contain secrets and are not in the repr.

    ``url``: a template with ``{parameter}`` in its path; scheme, host and port are fixed.
    ``parameters``: the JSON Schema that the model sees. ``places``: where parameters outside of the
    path go; by default the query of a GET or DELETE, and the JSON body of other methods.
    ``body_parameter``: the parameter that is the whole body. ``constants``: arguments of every call
    that the model does not see. ``result``: a JMESPath expression that selects from a JSON answer.
    ``allow_private``: whether the host may have an address of this machine or a private network.
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
