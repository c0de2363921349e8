"""The tools that the service of one model accepts, of those that sessions offer. Cheap to import.

A request that is refused because of one tool costs every turn. So a service is sent as many tools
as it takes, in the words that it knows, and none that it has refused by name.
"""

from __future__ import annotations

import json
import logging
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from vixio.core.errors import ProviderError
from vixio.core.tools.toolset import CLIENT_SOURCE, DEVICE_SOURCE
from vixio.providers.openai_agent.model import ModelTool
from vixio.providers.openai_agent.plain_schema import plain_schema

_log = logging.getLogger(__name__)

MAX_REFUSED: Final = 512
"""Refused tools that are remembered."""

_REMEMBERED: Final = 64
"""Sets of tools that have been logged: those of several kinds of device."""

_LOGGED: Final = 20
"""Names in one line of the log."""

_FIRST: Final = {
    "builtin": 0,
    "local": 0,
    "app": 0,
    "reminders": 0,
    DEVICE_SOURCE: 1,
    CLIENT_SOURCE: 2,
}
"""The order in which tools are kept, by source; all others come last, in their own order."""

_DECLARATION: Final = re.compile(r"function_?declarations\W{1,4}(\d{1,4})", re.IGNORECASE)
"""``tools[0].function_declarations[3].parameters…``: Gemini."""

_PLACE: Final = re.compile(r"\btools\W{1,4}(\d{1,4})\b")
"""``tools[3].function.parameters``, ``tools.3.custom``, ``('body', 'tools', 3, …)``: OpenAI,
Anthropic, and servers that check requests with pydantic."""

_NAMED: Final = re.compile(
    r"""\b(?:function|tool)(?:[ _]name)?:? \\?['"`]?([A-Za-z0-9_-]{1,64})(?![\w-])""", re.IGNORECASE
)
"""``Invalid schema for function 'x': …``."""

_TOO_MANY: Final = re.compile(
    r"\b(?:tools|functions|declarations)\b.{0,200}?"
    r"(?:maximum|max|at most|up to|limit|no more than|exceeds?)\D{1,40}(\d{1,4})\b",
    re.IGNORECASE | re.DOTALL,
)


_DIALECT: Final = re.compile(
    r"Unknown name|Cannot find field|cannot start list|only allowed for STRING|"
    r"enum\[\d+\]: cannot be|property is not defined|"
    r"TYPE_STRING|JSON schema conversion|Unrecognized schema|parsing grammar|parse grammar|"
    r"Pattern must start|unsupported JSON schema|cannot unmarshal \w+ into Go",
    re.IGNORECASE,
)
"""A service knows fewer words of JSON Schema: Gemini, llama.cpp, vLLM's xgrammar, Ollama."""


class AcceptedTools:
    """``model``: its label, for the log. ``most``: how many tools its service takes; 0: any."""

    def __init__(self, model: str, most: int) -> None:
        self._model = model
        self._most = most
        self._plain = False
        self._plainly: OrderedDict[int, tuple[ModelTool, ModelTool]] = OrderedDict()
        self._refused: OrderedDict[str, None] = OrderedDict()
        self._told: OrderedDict[frozenset[str], None] = OrderedDict()

    def of(self, tools: Sequence[ModelTool]) -> Sequence[ModelTool]:
        """Return those of ``tools`` that are sent, in their order."""
        if self._plain:
            tools = [self._in_plain(tool) for tool in tools]
        if self._refused:
            tools = [tool for tool in tools if _key(tool) not in self._refused]
        if not self._most or len(tools) <= self._most:
            return tools
        ranked = sorted(tools, key=lambda tool: _FIRST.get(tool.definition.source, 3))
        left_out = frozenset(tool.name for tool in ranked[self._most :])
        if left_out not in self._told:
            self._tell(left_out)
        return [tool for tool in tools if tool.name not in left_out]

    def blamed(self, failure: ProviderError, sent: Sequence[ModelTool]) -> bool:
        """Whether ``failure`` is due to some of the tools that were ``sent``.

        They are left out from now on, or all are sent in plain words, so the request can go again.
        """
        if not failure.detail or not sent:
            return False
        if not self._plain and _DIALECT.search(failure.detail):
            self._plain = True
            fields = {"model": self._model, "error": str(failure)}
            _log.warning("schemas of tools are sent in plain words from now on", extra=fields)
            return True
        named = _named(failure.detail, sent)
        for tool in named:
            self._refused[_key(tool)] = None
            fields = {"model": self._model, "tool": tool.name, "source": tool.definition.source}
            _log.warning(
                "tool refused by the model's service", extra={**fields, "error": str(failure)}
            )
        while len(self._refused) > MAX_REFUSED:
            self._refused.popitem(last=False)
        if named:
            return True
        limit = _TOO_MANY.search(failure.detail)
        if limit is None or not 0 < int(limit[1]) < len(sent):
            return False
        self._most = int(limit[1])
        return True

    def _in_plain(self, tool: ModelTool) -> ModelTool:
        known = self._plainly.get(id(tool))
        if known is None or known[0] is not tool:
            known = tool, replace(tool, parameters=plain_schema(tool.parameters))
            self._plainly[id(tool)] = known
            while len(self._plainly) > MAX_REFUSED:
                self._plainly.popitem(last=False)
        return known[1]

    def _tell(self, left_out: frozenset[str]) -> None:
        self._told[left_out] = None
        while len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        named = ", ".join(sorted(left_out)[:_LOGGED])
        fields = {"model": self._model, "max_tools": self._most, "left_out": len(left_out)}
        _log.warning("too many tools for the model", extra={**fields, "tools": named})


def _named(words: str, sent: Sequence[ModelTool]) -> Sequence[ModelTool]:
    """Return the tools of a request that a service's error is about."""
    places = _DECLARATION.findall(words) or _PLACE.findall(words)
    found = [sent[int(place)] for place in places if int(place) < len(sent)]
    names = set(_NAMED.findall(words))
    found += [tool for tool in sent if tool.name in names]
    return list(dict.fromkeys(found))


def _key(tool: ModelTool) -> str:
    """Return what is refused: a tool of this name and schema, of whichever session."""
    return f"{tool.name} {json.dumps(tool.parameters, sort_keys=True)}"
