"""Results of tools: as data parts, and in the words of a client that knows text alone.

The source document's client (a2a-client-tools, its steps 2 and 4) reports in three forms:
``Tool "x" returned: <JSON>``, ``Tool x failed: <words>`` and ``Tool results: [{name, result |
error}]``. They name tools and no calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vixio.core.strict_json import depth_of, parse_json
from vixio.core.well_formed import well_formed
from vixio.web.a2a.json_input import MAX_DEPTH, Invalid, whole_numbers

MAX_ID: Final = 200
"""Characters of the ids of calls, contexts, tasks and messages, and of names."""

MAX_RESULTS: Final = 64
"""Of one message; as many as tools."""

RESULT_TYPES: Final = ("tool-results", "tool-messages")

_KEYS: Final = ("tool_results", "toolMessages", "tool_messages")
_STATUSES: Final = ("success", "error")
_ONE: Final = re.compile(r"^Tool (.{1,202}?) (returned|failed):[ \t]*", re.MULTILINE)
_LIST: Final = re.compile(r"Tool results:\s*")
_QUOTES: Final = "\"'`“”"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call. ``content``: text, or JSON text with the numbers as they were sent.

    Without ``call_id`` it is that of the oldest call of the tool ``name`` that waits.
    """

    call_id: str
    content: str
    error: bool = False
    name: str = ""


def results_in_data(part: Mapping[str, Any], kind: str, place: str) -> Sequence[Result] | None:
    """Return the results of a data part of this type; None: it has none. Raises Invalid."""
    data = part["data"]
    if not isinstance(data, dict):
        return None
    key = next((key for key in _KEYS if key in data), None)
    if key is None:
        if kind in RESULT_TYPES:
            raise Invalid(f"{place}.tool_results is missing")
        return None
    listed = data[key]
    if not isinstance(listed, list):
        raise Invalid(f"{place}.{key} must be a list")
    return [_result(each, f"{place}.{key}[{number}]") for number, each in enumerate(listed)]


def results_in_words(text: str) -> tuple[Result, ...]:
    """Return the results that a text reports in one of the document's forms; empty: in none."""
    text = text.strip()
    if found := _LIST.match(text):
        return _listed(text[found.end() :])
    heads = list(_ONE.finditer(text))
    if not heads or heads[0].start() or len(heads) > MAX_RESULTS:
        return ()
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return tuple(
        _said(head[1].strip(_QUOTES), head[2] == "failed", text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    )


def _said(name: str, failed: bool, words: str) -> Result:
    """Return a result whose content is JSON, as of ``JSON.stringify``, or plain words."""
    value = _json(words)
    return Result("", words_of(value) if isinstance(value, str) else words_of(words), failed, name)


def _listed(text: str) -> tuple[Result, ...]:
    value = _json(text)
    listed = [value] if isinstance(value, dict) else value
    if not isinstance(listed, list) or len(listed) > MAX_RESULTS:
        return ()
    results: list[Result] = []
    for each in listed:
        name = each.get("name") if isinstance(each, dict) else None
        if not isinstance(name, str) or not 0 < len(name) <= MAX_ID:
            return ()
        failed = each.get("error") is not None
        content = each["error"] if failed else each.get("result")
        results.append(Result("", words_of(content), failed, name))
    return tuple(results)


def _json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a JSON text; None, which is never a result's form: it is none."""
    try:
        value = parse_json(text)
    except (ValueError, RecursionError):
        return None
    return value if depth_of(value) <= MAX_DEPTH else None


def _result(given: Any, place: str) -> Result:  # noqa: ANN401 - it is checked here
    if not isinstance(given, dict):
        raise Invalid(f"{place} must be an object")
    call_id, name = given.get("tool_call_id"), given.get("name")
    if not isinstance(name, str) or len(name) > MAX_ID:
        name = ""
    if call_id is None and name:
        call_id = ""
    elif not isinstance(call_id, str) or not 0 < len(call_id) <= MAX_ID:
        raise Invalid(f"{place}.tool_call_id must be a text of 1 to {MAX_ID} characters")
    status = given.get("status", "success")
    if status not in _STATUSES:
        raise Invalid(f'{place}.status must be "success" or "error"')
    content = words_of(whole_numbers(given.get("content")))
    return Result(call_id, content, status == "error", name)


def words_of(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a text as it is, and other JSON as text; either fit for a model and a database."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return well_formed(text).replace("\0", "")
