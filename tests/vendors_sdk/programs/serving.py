"""A program of the tests, in the environment of the vendors' clients.

It reads calls from standard input, a JSON object a line, and answers each on standard output.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from typing import Any

Call = Callable[..., dict[str, Any]]


def serve(*calls: Call) -> None:
    """Answer calls until standard input ends. What a client raises is answered with its words."""
    known = {call.__name__: call for call in calls}
    # What a client prints goes to standard error.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = known[asked["call"]](**asked["given"])
        except Exception as error:  # noqa: BLE001 - whatever a client raises is what is tested
            answer = {"raised": type(error).__name__, "words": str(error), **attributes(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    os._exit(0)  # at once: some clients leave threads and timers behind


def attributes(error: BaseException) -> dict[str, Any]:
    """Return what clients note at their errors."""
    names = ("code", "status", "status_code", "name")
    found = {name: getattr(error, name, None) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, int | str)}


def sound(text: str) -> bytes:
    """Return PCM that came as base64."""
    return b64decode(text)


def pieces(pcm: bytes, size: int = 3_200) -> Iterator[bytes]:
    """Yield PCM as a microphone gives it: 100 ms at a time."""
    for at in range(0, len(pcm), size):
        yield pcm[at : at + size]


def told(parts: list[bytes]) -> dict[str, Any]:
    """Return sound as an answer: what there is of it, and in how many pieces it came."""
    return {"pieces": len(parts), "sound": b64encode(b"".join(parts)).decode()}
