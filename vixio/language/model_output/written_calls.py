"""Reads tool calls that a model wrote as text, in whatever form its family has."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

Parameters = Callable[[str], Mapping[str, Any] | None]
"""Returns the JSON Schema of the tool that a name means; None: there is no such tool."""

_NAMES: Final = (
    "name",
    "function",
    "tool",
    "tool_name",
    "function_name",
    "recipient_name",
    "action",
)
_ARGUMENTS: Final = (
    "arguments",
    "parameters",
    "args",
    "params",
    "kwargs",
    "input",
    "tool_input",
    "action_input",
)
_LISTS: Final = ("tool_calls", "tool_uses", "function_calls", "calls", "tools")
_MISSING_BRACES: Final = 3

_NAME: Final = r"[\w.\-]*\w"
_FENCE: Final = re.compile(r"```\w*\s*|```")
_TOKEN: Final = re.compile(r"<[|｜][^<>\n]*[|｜]>|</?s>")
_NAMED_TAG: Final = re.compile(
    r"<(?:[\w-]+:|[|｜]DSML[|｜])?(?:function|function_call|invoke|tool|tool_call|tool_use)"
    rf"(?:=|\s+name\s*=\s*)[\"']?({_NAME})[\"']?\s*>",
    re.IGNORECASE,
)
_PARAMETER: Final = re.compile(
    r"<(?:[\w-]+:|[|｜]DSML[|｜])?(?:parameter|param|arg)(?:=|\s+name\s*=\s*)[\"']?([\w.\-]+)[\"']?"
    r"(?:\s+string\s*=\s*[\"'](true|false)[\"'])?\s*>(.*?)"
    r"(?:</(?:[\w-]+:|[|｜]DSML[|｜])?(?:parameter|param|arg)\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_PAIR: Final = re.compile(
    r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)(?:</arg_value>|\Z)", re.DOTALL | re.IGNORECASE
)
_CHILD: Final = re.compile(r"<(name|tool_name|arguments|parameters|input)>(.*?)</\1>", re.DOTALL)
_SEPARATORS: Final = re.compile(
    r"<[|｜]tool[_▁]call[_▁](?:begin|end)[|｜]>|</?tool_call>|</tool_call\s*$|\[TOOL_CALLS\]",
    re.IGNORECASE,
)
_HEAD: Final = re.compile(
    r"\s*:?\s*(?:function\s*<[|｜]tool[_▁]sep[|｜]>)?\s*(?:functions[.:])?"
    rf"(?P<name>{_NAME}?)(?::\d+)?\s*"
    r"(?:<[|｜][^<>\n]*[|｜]>|\[CALL_ID\]\s*\w*|\[ARGS\]|\n|:(?=\s*\{)|✿ARGS✿:?|Action Input:|\s)*"
    r"(?:```(?:json)?)?\s*(?P<arguments>\{.*)?\Z",
    re.DOTALL | re.IGNORECASE,
)
_GEMMA: Final = re.compile(rf"\s*call:\s*({_NAME})\s*(\{{.*\}})\s*", re.DOTALL)
_GEMMA_TEXT: Final = re.compile(r"<\|\"\|>(.*?)<\|\"\|>|<escape>(.*?)<escape>", re.DOTALL)
_BARE_KEY: Final = re.compile(r"([{,]\s*)([A-Za-z_][\w.\-]*)\s*:")
_DECODER: Final = json.JSONDecoder()


class WrittenCall(NamedTuple):
    """A call: the tool's name as it was written, and its arguments as a JSON object."""

    name: str
    arguments: str


def read_calls(body: str, parameters: Parameters) -> list[WrittenCall]:
    """Return the calls in a text that consists of calls; none where it cannot be read as such."""
    found = list(_tagged(body, parameters))
    if found:
        return found
    for piece in _SEPARATORS.split(body):
        if piece.strip():
            read = _one_form(piece, parameters)
            if not read:
                return []
            found += read
    return found


def _one_form(piece: str, parameters: Parameters) -> list[WrittenCall]:
    text = _FENCE.sub("", piece).strip()
    for read in (_as_json, _as_gemma, _as_pairs, _as_children, _as_head, _as_python):
        if calls := read(text, parameters):
            return calls
    return []


def _call(name: str, arguments: object) -> WrittenCall | None:
    if isinstance(arguments, str):
        text = arguments.strip()
        return WrittenCall(name, text or "{}")
    if arguments is None:
        arguments = {}
    if not (name and isinstance(arguments, dict)):
        return None
    return WrittenCall(name, json.dumps(arguments, ensure_ascii=False))


# -- JSON -----------------------------------------------------------------------------------------


def values_of(text: str) -> list[Any] | None:
    """Return the JSON values that a text consists of, one behind the other; None: it does not.

    Small models forget braces at the end, or write some too many.
    """
    found: list[Any] = []
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n,;" or (found and text[at] in "}]"):
            at += 1
            continue
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            value = _mended(text[at:])
            if value is None:
                return None
            at = len(text)
        found.append(value)
    return found


def _mended(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return an object whose braces at the end are missing, or that is written as Python."""
    for missing in range(1, _MISSING_BRACES + 1):
        for closing in ("}" * missing, "}" * missing + "]"):
            try:
                return json.loads(text + closing)
            except (ValueError, RecursionError):
                continue
    try:
        value = ast.literal_eval(text)
        json.dumps(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def calls_in(values: Sequence[Any], parameters: Parameters) -> list[WrittenCall]:
    """Return the calls that JSON values describe; none if one of them is no call."""
    found: list[WrittenCall] = []
    for value in values:
        read = _calls_of(value, parameters)
        if not read:
            return []
        found += read
    return found


def _calls_of(value: Any, parameters: Parameters) -> list[WrittenCall]:  # noqa: ANN401 - any JSON value
    if isinstance(value, list):
        return calls_in(value, parameters)
    if not isinstance(value, dict):
        return []
    for key in _LISTS:
        if isinstance(value.get(key), list) and value[key]:
            return calls_in(value[key], parameters)
    if isinstance(value.get("function"), dict):
        value = value["function"]
    named = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if named is None:
        (key, inner), *more = value.items() or [("", None)]
        known = not more and parameters(key) is not None and isinstance(inner, dict)
        call = _call(key, inner) if known else None
        return [call] if call else []
    given = next((value[key] for key in _ARGUMENTS if key in value), None)
    call = _call(named, given)
    return [call] if call else []


def _as_json(text: str, parameters: Parameters) -> list[WrittenCall]:
    text = _TOKEN.sub(" ", text).strip().removeprefix("json").lstrip()
    values = values_of(text) if text.startswith(("{", "[")) else None
    return calls_in(values, parameters) if values else []


# -- tags -----------------------------------------------------------------------------------------


def _tagged(body: str, parameters: Parameters) -> Iterator[WrittenCall]:
    """Yield calls whose tag has the tool's name, as of Qwen3-Coder, Anthropic, DeepSeek 3.2."""
    heads = list(_NAMED_TAG.finditer(body))
    ends = [*(head.start() for head in heads[1:]), len(body)]
    for head, end in zip(heads, ends, strict=bool(heads)):
        inner = body[head.end() : end]
        schema = parameters(head[1]) or {}
        given = [(name, value, kind) for name, kind, value in _PARAMETER.findall(inner)]
        if given:
            arguments = {name: _typed(value, schema, name, kind) for name, value, kind in given}
            yield WrittenCall(head[1], json.dumps(arguments, ensure_ascii=False))
            continue
        text = re.sub(r"</[^<>]*>?", "", inner).strip()
        values = values_of(text) if text.startswith("{") else None
        call = _call(head[1], values[0] if values else None)
        if call:
            yield call


def _typed(value: str, schema: Mapping[str, Any], name: str, kind: str = "") -> Any:  # noqa: ANN401 - any JSON value
    """Return an argument that was written without its type: text where the schema says so."""
    text = value.strip("\n")
    properties = schema.get("properties")
    known = properties.get(name) if isinstance(properties, Mapping) else None
    wanted = known.get("type") if isinstance(known, Mapping) else None
    if wanted == "string" or (kind == "true" and wanted is None):
        return text
    plain = text.strip()
    if plain in {"True", "False", "None"}:
        return {"True": True, "False": False, "None": None}[plain]
    try:
        return json.loads(plain)
    except (ValueError, RecursionError):
        return text


def _as_pairs(text: str, parameters: Parameters) -> list[WrittenCall]:
    """GLM 4.5: the name, then keys and values in tags."""
    name = re.match(rf"\s*({_NAME})\s*(?=<arg_key>|$)", text)
    if not name or "<arg_key>" not in text:
        return []
    schema = parameters(name[1]) or {}
    given = {key.strip(): value for key, value in _PAIR.findall(text)}
    arguments = {key: _typed(value, schema, key) for key, value in given.items()}
    return [WrittenCall(name[1], json.dumps(arguments, ensure_ascii=False))]


def _as_children(text: str, parameters: Parameters) -> list[WrittenCall]:
    """Name and arguments in tags of their own, as Cline writes them."""
    children = dict(_CHILD.findall(text))
    name = (children.pop("name", "") or children.pop("tool_name", "")).strip()
    if not name:
        return []
    values = values_of(next(iter(children.values()), "{}").strip())
    call = _call(name, values[0] if values else {})
    return [call] if call else []


# -- a name, then its arguments -------------------------------------------------------------------


def _as_head(text: str, parameters: Parameters) -> list[WrittenCall]:
    """DeepSeek, Kimi, Mistral: the name, a separator, the arguments as JSON."""
    head = _HEAD.match(text)
    if not head or not head["name"]:
        return []
    if head["arguments"] is None:
        return [WrittenCall(head["name"], "{}")] if parameters(head["name"]) is not None else []
    values = values_of(_TOKEN.sub(" ", head["arguments"]))
    call = _call(head["name"], values[0]) if values else None
    return [call] if call else []


def _as_gemma(text: str, parameters: Parameters) -> list[WrittenCall]:
    """Gemma 4: ``call:name{key:value}``, text between tokens of its own."""
    found: list[WrittenCall] = []
    for piece in re.split(r"(?=\bcall:)", text):
        head = _GEMMA.fullmatch(piece)
        if head is None:
            if piece.strip():
                return []
            continue
        values: list[str] = []

        def slot(match: re.Match[str], kept: list[str] = values) -> str:
            kept.append(match[1] if match[1] is not None else match[2])
            return f'"\x00{len(kept) - 1}"'

        plain = _BARE_KEY.sub(r'\1"\2":', _GEMMA_TEXT.sub(slot, head[2]))
        for number, value in enumerate(values):
            plain = plain.replace(f'"\x00{number}"', json.dumps(value))
        given = values_of(plain)
        call = _call(head[1], given[0]) if given else None
        if call is None:
            return []
        found.append(call)
    return found


# -- Python ---------------------------------------------------------------------------------------


def _as_python(text: str, parameters: Parameters) -> list[WrittenCall]:
    """Llama 4, Gemma 3, LFM2: calls as in Python, alone, in a list, or printed."""
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    found: list[WrittenCall] = []
    for statement in tree.body:
        value = getattr(statement, "value", None)
        for expression in value.elts if isinstance(value, ast.List) else [value]:
            call = _python_call(expression, parameters)
            if call is None:
                return []
            found.append(call)
    return found


def _python_call(expression: object, parameters: Parameters) -> WrittenCall | None:
    while isinstance(expression, ast.Await | ast.FormattedValue):
        expression = expression.value
    if not isinstance(expression, ast.Call):
        return None
    name = _dotted(expression.func)
    if name == "print" and len(expression.args) == 1:
        return _python_call(expression.args[0], parameters)
    for affix in ("default_api.", "tools.", "functions."):
        name = name.removeprefix(affix)
    name = name.removesuffix(".call")
    schema = parameters(name)
    if schema is None:
        return None
    try:
        given = dict(
            zip(schema.get("properties") or (), map(_literal, expression.args), strict=False)
        )
        for keyword in expression.keywords:
            if keyword.arg is None:
                return None
            given[keyword.arg] = _literal(keyword.value)
        return WrittenCall(name, json.dumps(given, ensure_ascii=False))
    except (ValueError, TypeError):
        return None


def _literal(node: ast.expr) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(node, ast.Name) and node.id in {"true", "false", "null"}:
        return {"true": True, "false": False, "null": None}[node.id]
    return ast.literal_eval(node)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
