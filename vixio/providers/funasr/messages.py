"""Messages between the server and the worker process, in frames."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

NAME: Final = "funasr"

MAX_PAYLOAD: Final = 8_000_000
"""Bytes. The longest payload is the audio of one feed."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Settings of the worker process, as JSON on its command line."""

    model: str
    """Id of a model, or the absolute path of its folder."""
    hub: str
    device: str
    threads: int
    itn: bool
    chunk_size: tuple[int, ...]
    """Three numbers, in units of 60 ms."""
    max_batch: int
    max_batch_seconds: float
    gather_seconds: float
    options: dict[str, Any]
    """Further arguments of ``AutoModel``."""


class Kind(IntEnum):
    """Type of a frame. The first four go to the worker, the others come from it."""

    OPEN = 1
    """JSON: an utterance begins; its language and hotwords."""
    AUDIO = 2
    """PCM at 16 kHz."""
    FINISH = 3
    CANCEL = 4
    READY = 5
    """JSON: the model is loaded; its class, and whether it decodes while the user speaks."""
    UNUSABLE = 6
    """JSON: why the model cannot be loaded, and whether a retry can help. The worker exits."""
    PARTIAL = 7
    """JSON: the partial transcript."""
    RESULT = 8
    """JSON: ``text``, the model's output; ``batch``, how many utterances shared its call."""
    FAILED = 9
    """JSON: why this utterance cannot be recognised."""
