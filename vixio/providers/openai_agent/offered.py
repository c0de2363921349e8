"""The tools that a model is offered: made from definitions, and found by what it calls them.

Cheap to import.

Models and their servers bend names: they write the real name for the alias, put ``functions.`` in
front (gpt-oss, Kimi), leave a control token behind it (vllm-project/vllm#32633), change case or
separators. A name that means exactly one offered tool is that tool; none is guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from vixio.core.errors import ToolError
from vixio.core.tools.names import safe_tool_name
from vixio.core.tools.types import JsonObject, ToolDefinition
from vixio.language.model_output.markers import Markers
from vixio.language.model_output.reader import OutputReader
from vixio.providers.openai_agent.model import ModelTool
from vixio.providers.openai_agent.service_schema import service_schema

MAX_DESCRIPTION: Final = 1_024
"""Characters of a function's description that OpenAI takes."""

_LONGEST: Final = 300
"""Characters of a name that are looked at; no tool's name is as long."""

_NEAR: Final = 3
_SIMILAR: Final = 0.6

_BEFORE: Final = re.compile(
    r"(?:<[|｜\w]*>|<?function=|to=|call:|"
    r"(?:functions?|tools?|default_api|namespace|assistant|commentary|mcp)(?:::|__|[.:/]))+",
    re.IGNORECASE,
)
"""Opening tokens, and the namespaces in which models see tools: gpt-oss, Kimi, Gemini, MCP."""

_BEHIND: Final = re.compile(
    # A token and all behind it; the number of a call (Kimi); brackets; a channel or format.
    r"[<>|｜\[].*|:\d+$|\(.*\)?$|\s+(?:commentary|json|code)$",
    re.DOTALL | re.IGNORECASE,
)

_QUOTES: Final = " \t\r\n\"'`“”‘’*"


def as_offered(tool: ToolDefinition) -> ModelTool:
    """Return ``tool`` as every large service accepts it, under its alias.

    Raises ToolError if its parameters are not the JSON Schema of an object.
    """
    from vixio.core.tools.arguments import prepare

    prepare(tool)
    schema = service_schema(tool.parameters)
    if schema is None:
        message = f"the parameters of {tool.name} are not those of an object"
        raise ToolError("failed", message)
    name = tool.alias or safe_tool_name(tool.name)
    return ModelTool(name, _description(tool, name), schema, tool)


def _description(tool: ToolDefinition, alias: str) -> str:
    """Return the description; behind the real name where ``alias`` has lost letters of it."""
    words = tool.description.strip()
    if _form(tool.name) not in _form(alias) and not words.startswith(tool.name):
        words = f"{' '.join(tool.name.split())}: {words}" if words else tool.name
    return words if len(words) <= MAX_DESCRIPTION else f"{words[: MAX_DESCRIPTION - 1]}…"


class OfferedTools:
    """A list of tools with its indexes, which are made when the first name is looked for."""

    def __init__(self, tools: Sequence[ModelTool]) -> None:
        self.tools = tools
        self._exact: dict[str, ModelTool] | None = None
        self._alike: list[dict[str, ModelTool | None]] | None = None

    def find(self, name: str) -> ModelTool | None:
        """Return the one tool that ``name`` means; None if it is none, or could be several.

        Its name here comes first, then its real name, then either in other case or with other
        separators, then what is left without namespaces, control tokens, quotes and brackets.
        """
        if self._exact is None:
            self._exact = {tool.name: tool for tool in self.tools}
        found = self._exact.get(name)
        if found is not None or not self.tools:
            return found
        return self._meant(name[:_LONGEST])

    def reader(self, markers: Markers) -> OutputReader:
        """Return a reader of one answer, for calls of these tools that are written as text."""
        names = {each for tool in self.tools for each in (tool.name, tool.definition.name)}
        return OutputReader(tuple(names), self._parameters, markers)

    def _parameters(self, name: str) -> JsonObject | None:
        tool = self.find(name)
        return tool.parameters if tool is not None else None

    def near(self, name: str) -> Sequence[str]:
        """Return names of tools like ``name``, the nearest first: a few, or none."""
        bare = _bare(name[:_LONGEST])
        words = set(_words(bare))
        by_form = {_form(tool.name): tool.name for tool in self.tools}
        close = [by_form[form] for form in get_close_matches(_form(bare), by_form, _NEAR, _SIMILAR)]
        shared = {tool.name: len(words.intersection(_words(tool.name))) for tool in self.tools}
        near = [each for each, number in shared.items() if number or each in close]
        near.sort(key=lambda each: (-shared[each], each not in close))
        return near[:_NEAR]

    def unknown(self, name: str) -> ToolError:
        """Return the error for a name that means none of the tools; the model may try again."""
        near = ", ".join(self.near(name))
        hint = f"did you mean {near}?" if near else "call one of those that are offered"
        return ToolError("not_found", f"there is no tool {name}; {hint}", retryable=True)

    def _meant(self, name: str) -> ModelTool | None:
        if self._alike is None:
            self._alike = [
                _unique((tool.definition.name, tool) for tool in self.tools),
                _unique(
                    (_form(each), tool)
                    for tool in self.tools
                    for each in (tool.name, tool.definition.name)
                ),
                _unique(
                    (_form(f"{tool.definition.source}_{tool.definition.name}"), tool)
                    for tool in self.tools
                ),
            ]
        for form in dict.fromkeys((name, _form(name), _form(_bare(name)))):
            for index in self._alike:
                if form in index:
                    return index[form]
        return None


def _unique(named: Iterable[tuple[str, ModelTool]]) -> dict[str, ModelTool | None]:
    """Return tools by a form of their name; None where several have it."""
    index: dict[str, ModelTool | None] = {}
    for form, tool in named:
        if form:
            index[form] = tool if index.get(form, tool) is tool else None
    return index


def _form(name: str) -> str:
    """Return ``name`` without case and separators; letters of every script stay."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if char.isalnum())


def _bare(name: str) -> str:
    """Return ``name`` without what stands around it in a model's own protocol."""
    bare = name.strip(_QUOTES)
    bare = bare[before.end() :] if (before := _BEFORE.match(bare)) else bare
    return _BEHIND.sub("", bare).strip(_QUOTES)


def _words(name: str) -> Sequence[str]:
    return [word for word in re.split(r"[\W_]+", name.casefold()) if len(word) > 1]
