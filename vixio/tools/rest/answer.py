"""Converts a service's answer to text for the model, or to an error."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult

from vixio.core.errors import ConfigError, ToolError
from vixio.tools.rest.client import INLINE_BYTES, PASSING, RestAnswer

MAX_EXCERPT_CHARS = 200


def compile_result(expression: str) -> ParsedResult | None:
    """Return the compiled JMESPath, None for an empty one. Raises ConfigError."""
    if not expression:
        return None
    try:
        return jmespath.compile(expression)
    except JMESPathError as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"result: not a JMESPath expression: {reason}") from None


async def read(answer: RestAnswer, pick: ParsedResult | None) -> str:
    """Return the answer as text for the model. Raises ToolError."""
    if not 200 <= answer.status < 300:
        raise _failure(answer)
    if not answer.body.strip():
        return "done"
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind.endswith(("/json", "+json"))
    if not is_json and not kind.startswith("text/") and kind:
        raise ToolError("failed", f"the service answers with {kind[:80]}, which cannot be read")
    if pick is None and not is_json:
        return _decode(answer.body)
    if len(answer.body) > INLINE_BYTES:
        return await asyncio.to_thread(_pick, answer.body, pick)
    return _pick(answer.body, pick)


def _pick(body: bytes, pick: ParsedResult | None) -> str:
    try:
        value: Any = json.loads(body)
        if pick is not None:
            value = pick.search(value)
    except (ValueError, RecursionError):
        raise ToolError("failed", "the service's answer is not JSON") from None
    except JMESPathError as error:
        reason = " ".join(str(error).split())[:MAX_EXCERPT_CHARS]
        raise ToolError("failed", f"the answer is not as expected: {reason}") from None
    if value is None:
        return "nothing found"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _failure(answer: RestAnswer) -> ToolError:
    status = answer.status
    if status in {401, 403}:
        # The body may quote the key.
        return ToolError("failed", f"the service refuses the access ({status})")
    kind = "not_found" if status == 404 else "failed"
    words = " ".join(_decode(answer.body[:2_000]).split())[:MAX_EXCERPT_CHARS]
    said = f": {words}" if words and not words.startswith("<") else ""
    return ToolError(
        kind,
        f"the service answers {status}{said}",
        retryable=status in PASSING,
        retry_after=_retry_after(answer),
    )


def _retry_after(answer: RestAnswer) -> float:
    """Return the seconds of Retry-After; infinity for a date (RFC 9110 10.2.3)."""
    try:
        seconds = float(answer.headers.get("retry-after", "0"))
    except ValueError:
        return math.inf
    return seconds if seconds >= 0 else 0.0


def _decode(body: bytes) -> str:
    return body.decode("utf-8", "replace")
