"""Answers of a device's tool server that are not valid JSON.

The firmware puts the message of an error into its answer without escaping it (mcp_server.cc,
ReplyError). A quote or a line break in it, such as the name of a tool that does not exist, makes
the whole WebSocket message unreadable. The id can still be found, so the call that waits for the
answer fails at once instead of at the end of its timeout.
"""

from __future__ import annotations

import re

from vixio.core.tools.types import JsonObject

MAX_MESSAGE_CHARS = 500

NO_JSON = "the device's answer is not valid JSON"

_IS_MCP = re.compile(r'"type"\s*:\s*"mcp"')
_ID_FIRST = re.compile(r'"id"\s*:\s*([0-9]{1,10})\s*,\s*"(error|result)"\s*:')
_KIND = re.compile(r'"(error|result)"\s*:')
_ID_LAST = re.compile(r',\s*"id"\s*:\s*([0-9]{1,10})[\s}]*$')
_MESSAGE = re.compile(r'"message"\s*:\s*"')


def read_broken_answer(text: str) -> JsonObject | None:
    """Return an error answer for the id in ``text``, which is not JSON; None if it has none.

    The message is what the device wrote, as far as it can be told; of a broken result it says that
    it is broken.
    """
    if _IS_MCP.search(text) is None:
        return None
    if (found := _ID_FIRST.search(text)) is not None:
        number, kind, rest = found[1], found[2], text[found.end() :]
    else:
        answer, last = _KIND.search(text), _ID_LAST.search(text)
        if answer is None or last is None:
            return None
        number, kind, rest = last[1], answer[1], text[answer.end() : last.start()]
    message = _message(rest) if kind == "error" else NO_JSON
    return {"jsonrpc": "2.0", "id": int(number), "error": {"message": message}}


def _message(rest: str) -> str:
    """Return what stands between ``"message":"`` and the closing quote and brackets."""
    begin = _MESSAGE.search(rest)
    if begin is None:
        return NO_JSON
    # The message is followed by one quote and the brackets of error, payload and message.
    text = rest[begin.end() :].rstrip("} \t\r\n").removesuffix('"')
    return text[:MAX_MESSAGE_CHARS] or NO_JSON
