"""Errors of the A2A library in words of this server.

The library hands its clients the texts of protobuf and pydantic, which name their types, quote
values, and change with each release. Codes, reasons and the names of parameters stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse

_PLACE: Final = re.compile(r"Failed to parse (\w+) field|^(params(?:\.\w+)*)$", re.MULTILINE)
"""protobuf and pydantic name the parameter so."""

_SNAKE: Final = re.compile(r"_([a-z])")
"""Names of protobuf; those of the protocol are in camel case."""

_INFO: Final = "type.googleapis.com/google.rpc.ErrorInfo"
_MAX_PLACES: Final = 8

_WORDS: Final[Mapping[str, str]] = {
    "JSON_PARSE_ERROR": "the request cannot be read: it is not JSON",
    "INVALID_REQUEST": "the request does not have the form that the protocol defines",
    "METHOD_NOT_FOUND": "there is no such method",
    "INVALID_PARAMS": "the parameters are not those of the method",
    "INTERNAL_ERROR": "internal error",
    "TASK_NOT_FOUND": "Task not found",
    "TASK_NOT_CANCELABLE": "the task cannot be cancelled: it is over",
    "PUSH_NOTIFICATION_NOT_SUPPORTED": "push notifications are not supported",
    "UNSUPPORTED_OPERATION": "the task is over, or this agent does not support the operation",
    "CONTENT_TYPE_NOT_SUPPORTED": "content of this type is not taken",
    "INVALID_AGENT_RESPONSE": "internal error",
    "EXTENDED_AGENT_CARD_NOT_CONFIGURED": "there is no extended card",
    "EXTENSION_SUPPORT_REQUIRED": "an extension that the client requires is not supported",
    "VERSION_NOT_SUPPORTED": "versions 1.0 and 0.3 of the protocol are supported: is the header "
    "A2A-Version that of the method?",
}

_REASONS: Final[Mapping[int, str]] = {
    -32700: "JSON_PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32603: "INTERNAL_ERROR",
    -32001: "TASK_NOT_FOUND",
    -32002: "TASK_NOT_CANCELABLE",
    -32003: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    -32004: "UNSUPPORTED_OPERATION",
    -32005: "CONTENT_TYPE_NOT_SUPPORTED",
    -32006: "INVALID_AGENT_RESPONSE",
    -32007: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    -32008: "EXTENSION_SUPPORT_REQUIRED",
    -32009: "VERSION_NOT_SUPPORTED",
}
"""By the code of JSON-RPC (specification 1.0, 5.4). HTTP+JSON states the reason itself."""


def in_own_words(response: JSONResponse) -> JSONResponse:
    """Return a response of the library; if it is an error, in this server's words."""
    if response.status_code == 200 and b'"error"' not in bytes(response.body):
        return response
    body = json.loads(bytes(response.body))
    if not isinstance(body, dict) or not isinstance(body.get("error"), dict):
        return response
    return JSONResponse(_own(body), response.status_code)


def event_in_own_words(data: str) -> str:
    """Return the data of an event of the library, in the same way."""
    if '"error"' not in data:
        return data
    body = json.loads(data)
    return json.dumps(_own(body)) if isinstance(body.get("error"), dict) else data


def _own(body: dict[str, Any]) -> dict[str, Any]:
    error = body["error"]
    key = "data" if _REASONS.get(error.get("code")) else "details"
    details = error.get(key)
    infos = [
        {**each, "metadata": {}}
        for each in (details if isinstance(details, list) else ())
        if isinstance(each, dict) and each.get("@type") == _INFO
    ]
    reason = _REASONS.get(error.get("code")) or (infos[0]["reason"] if infos else "INTERNAL_ERROR")
    words = _WORDS.get(reason, "the request failed")
    if places := _places(error):
        words = f"{', '.join(places)}: missing or of the wrong type"
    own = {name: error[name] for name in ("code", "status") if name in error} | {"message": words}
    return {**body, "error": own | ({key: infos} if infos else {})}


def _places(error: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters that an error is about, as far as it has them."""
    found: list[str] = []
    for each in _texts(error):
        steps = _PLACE.findall(each)
        if whole := [place for _, place in steps if place]:
            found += whole
        elif steps:
            found.append(".".join(step for step, _ in steps))
    for detail in error.get("data") or error.get("details") or ():
        if isinstance(detail, dict):
            fields = (str(each.get("field")) for each in detail.get("fieldViolations", ()))
            found += [_SNAKE.sub(lambda match: match[1].upper(), field) for field in fields]
    return list(dict.fromkeys(found))[:_MAX_PLACES]


def _texts(error: Mapping[str, Any]) -> list[str]:
    data = error.get("data") or error.get("details")
    texts = [str(error.get("message", ""))] + ([data] if isinstance(data, str) else [])
    for detail in data if isinstance(data, list) else ():
        metadata = detail.get("metadata") if isinstance(detail, dict) else None
        if isinstance(metadata, dict) and isinstance(metadata.get("parseError"), str):
            texts.append(metadata["parseError"])
    return texts
