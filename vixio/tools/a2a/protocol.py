"""The wire shapes of A2A 1.0 and 0.3, as far as a caller needs them.

Both are read leniently, by what an object contains: agents mix the two. Text is made encodable.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from vixio.core.errors import ToolError
from vixio.core.tools.types import ImagePart, JsonObject
from vixio.core.well_formed import well_formed

Binding = Literal["jsonrpc", "http+json"]

OUTPUT_MODES = ("text/plain", "application/json")

MAX_PARTS = 64
"""Of one message or artifact; further ones are left out."""

MAX_ID_CHARS = 512
MAX_DATA_CHARS = 8_000
MAX_IMAGE_CHARS = 8_000_000


class State(StrEnum):
    """The states of a task (1.0 ``TaskState``); those of 0.3 have the same meaning."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"


FAILURES = frozenset({State.FAILED, State.CANCELED, State.REJECTED, State.AUTH_REQUIRED})
STOPPED = FAILURES | {State.COMPLETED, State.INPUT_REQUIRED}
"""States in which the agent does no more by itself."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an agent takes messages. ``version``: 1.0 or 0.3. ``tenant``: as in the card."""

    url: str
    binding: Binding = "jsonrpc"
    version: str = "1.0"
    tenant: str = ""

    @property
    def old(self) -> bool:
        """Whether it speaks 0.3."""
        return self.version == "0.3"


@dataclass(frozen=True, slots=True)
class Piece:
    """Words of a message or an artifact.

    ``key``: the same for all pieces of one message or artifact. ``append``: the text continues what
    came under the key; else it replaces it. ``role``: ``progress`` while the agent still works,
    ``error`` with a task that failed. ``data``: what is no text, in words for the model.
    """

    key: str
    text: str
    append: bool = False
    role: Literal["answer", "progress", "error"] = "answer"
    data: tuple[str, ...] = ()
    images: tuple[ImagePart, ...] = ()


@dataclass(frozen=True, slots=True)
class Update:
    """What one answer or event of the agent says. ``state``: None if it does not change."""

    task_id: str = ""
    context_id: str = ""
    state: State | None = None
    pieces: tuple[Piece, ...] = ()


def message_params(
    endpoint: Endpoint, text: str, message_id: str, context_id: str, task_id: str, skill: str
) -> JsonObject:
    """Return the parameters of a request that sends ``text``."""
    message: JsonObject = {"messageId": message_id}
    if endpoint.old:
        message |= {"kind": "message", "role": "user", "parts": [{"kind": "text", "text": text}]}
    else:
        message |= {"role": "ROLE_USER", "parts": [{"text": text}]}
    if context_id:
        message["contextId"] = context_id
    if task_id:
        message["taskId"] = task_id
    if skill:
        message["metadata"] = {"skillId": skill}
    configuration: JsonObject = {"acceptedOutputModes": list(OUTPUT_MODES)}
    if endpoint.old:
        configuration["blocking"] = True  # 0.3 leaves the default to the agent
    return {"message": message, "configuration": configuration}


def read_update(answer: object) -> Update:
    """Read a task, a message, or an event. Raises ToolError if it is none of them."""
    if not isinstance(answer, Mapping):
        raise malformed()
    for key in ("task", "message", "statusUpdate", "artifactUpdate"):
        inner = answer.get(key)
        if isinstance(inner, Mapping) and "kind" not in answer:
            return _READERS[key](inner)
    kind = answer.get("kind")
    if not isinstance(kind, str):
        kind = "message" if "messageId" in answer else "task" if "id" in answer else ""
    reader = _READERS.get(_KINDS.get(kind, ""))
    if reader is None:
        raise malformed()
    return reader(answer)


def malformed() -> ToolError:
    """Return the failure of an answer that is not of the protocol."""
    return ToolError("failed", "the agent's answer is not one of the A2A protocol")


def clean(value: object) -> str:
    """Return a string without half surrogate pairs, which nothing accepts; empty for others."""
    return well_formed(value) if isinstance(value, str) else ""


def _task(task: Mapping[str, Any]) -> Update:
    status = task.get("status")
    state, told = _status(status if isinstance(status, Mapping) else {})
    artifacts = task.get("artifacts")
    pieces = [
        _piece(f"artifact {_id(each.get('artifactId'))}", each.get("parts"))
        for each in (artifacts if isinstance(artifacts, list) else [])[:MAX_PARTS]
        if isinstance(each, Mapping)
    ]
    return Update(_id(task.get("id")), _id(task.get("contextId")), state, (*pieces, *told))


def _message(message: Mapping[str, Any]) -> Update:
    """A message in place of a task is the whole answer."""
    piece = _piece(_message_key(message), message.get("parts"))
    ids = _id(message.get("taskId")), _id(message.get("contextId"))
    return Update(*ids, State.COMPLETED, (piece,))


def _status_update(event: Mapping[str, Any]) -> Update:
    status = event.get("status")
    state, told = _status(status if isinstance(status, Mapping) else {})
    return Update(_id(event.get("taskId")), _id(event.get("contextId")), state, told)


def _artifact_update(event: Mapping[str, Any]) -> Update:
    artifact = event.get("artifact")
    if not isinstance(artifact, Mapping):
        raise malformed()
    key = f"artifact {_id(artifact.get('artifactId'))}"
    piece = _piece(key, artifact.get("parts"), append=event.get("append") is True)
    return Update(_id(event.get("taskId")), _id(event.get("contextId")), None, (piece,))


_READERS = {
    "task": _task,
    "message": _message,
    "statusUpdate": _status_update,
    "artifactUpdate": _artifact_update,
}
_KINDS = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}


def _status(status: Mapping[str, Any]) -> tuple[State | None, tuple[Piece, ...]]:
    state = _state(status.get("state"))
    message = status.get("message")
    if not isinstance(message, Mapping):
        return state, ()
    role: Literal["answer", "progress", "error"] = "progress"
    if state in FAILURES:
        role = "error"
    elif state in STOPPED:
        role = "answer"
    return state, (_piece(_message_key(message), message.get("parts"), role=role),)


def _state(value: object) -> State | None:
    name = clean(value).removeprefix("TASK_STATE_").lower().replace("_", "-")
    try:
        return State("canceled" if name == "cancelled" else name)
    except ValueError:
        return None


def _message_key(message: Mapping[str, Any]) -> str:
    return f"message {_id(message.get('messageId'))}"


def _id(value: object) -> str:
    return clean(value)[:MAX_ID_CHARS]


def _piece(
    key: str,
    parts: object,
    *,
    append: bool = False,
    role: Literal["answer", "progress", "error"] = "answer",
) -> Piece:
    texts: list[str] = []
    data: list[str] = []
    images: list[ImagePart] = []
    for part in _parts(parts):
        if isinstance(part.get("text"), str):
            texts.append(clean(part["text"]))
        elif "data" in part:
            data.append(_data(part["data"]))
        else:
            file = part.get("file")
            described = _file(file if isinstance(file, Mapping) else part)
            if isinstance(described, ImagePart):
                images.append(described)
            else:
                data.append(described)
    return Piece(key, "".join(texts), append, role, tuple(data), tuple(images))


def _parts(parts: object) -> Iterator[Mapping[str, Any]]:
    for part in (parts if isinstance(parts, list) else [])[:MAX_PARTS]:
        if isinstance(part, Mapping):
            yield part


def _data(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "[data that cannot be read]"
    return clean(text) if len(text) <= MAX_DATA_CHARS else f"{clean(text[:MAX_DATA_CHARS])}…"


def _file(file: Mapping[str, Any]) -> str | ImagePart:
    """Describe a file of 1.0 (``raw``, ``url``, ``mediaType``) or 0.3 (``bytes``, ``uri``)."""
    kind = clean(file.get("mediaType") or file.get("mimeType"))[:80] or "unknown type"
    raw = file.get("raw") or file.get("bytes")
    if kind.startswith("image/") and isinstance(raw, str) and len(raw) <= MAX_IMAGE_CHARS:
        return ImagePart(clean(raw), kind)
    name = clean(file.get("filename") or file.get("name"))[:200] or "a file"
    link = clean(file.get("url") or file.get("uri"))[:1_000]
    return f"[{name}, {kind}: {link}]" if link else f"[{name}, {kind}: it cannot be passed on]"
