"""The messages of DashScope's two protocols, and the connection that carries either."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from vixio.core.errors import ProviderError
from vixio.providers.dashscope.errors import of_code
from vixio.providers.dashscope.settings import NAME
from vixio.providers.service_socket import Frame, ServiceSocket

_AUDIO: Final = {"task_group": "audio"}


@dataclass(frozen=True, slots=True)
class ServerMessage:
    """A message of the server. ``kind``: of ``inference`` the event, of ``realtime`` the type."""

    kind: str
    body: Mapping[str, Any]
    task: str = ""
    """Of ``inference``: whose."""

    def text(self, key: str) -> str:
        """Return what stands under a key, "" where that is no text."""
        found = self.body.get(key)
        return found if isinstance(found, str) else ""


def run_task(task: str, model: str, what: str, function: str, parameters: Mapping[str, Any]) -> str:
    """Begin a task; ``what``: ``asr`` or ``tts``."""
    payload = {
        **_AUDIO,
        "task": what,
        "function": function,
        "model": model,
        "parameters": parameters,
        "input": {},
    }
    return _action("run-task", task, payload)


def continue_task(task: str, text: str) -> str:
    """Give a task a text."""
    return _action("continue-task", task, {"input": {"text": text}})


def finish_task(task: str) -> str:
    """Say that a task has no further input."""
    return _action("finish-task", task, {"input": {}})


def cancel_task(task: str) -> str:
    """Have a task's voice say no more."""
    return _action("finish-task", task, {"input": {"directive": "cancel"}})


def event(kind: str, **content: object) -> str:
    """Return a message of ``realtime``."""
    return _json({"event_id": f"event_{uuid.uuid4().hex}", "type": kind, **content})


def read(text: str, section: str) -> ServerMessage:
    """Return a message of the server. Raises ProviderError for a failure, and for what is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProviderError(NAME, "the server sends no JSON", reason="service")
    header = found.get("header")
    if isinstance(header, dict):
        kind, payload = str(header.get("event", "")), found.get("payload")
        if kind == "task-failed":
            words = str(header.get("error_message") or "")
            raise of_code(section, str(header.get("error_code") or ""), words)
        body = payload if isinstance(payload, dict) else {}
        return ServerMessage(kind, body, str(header.get("task_id", "")))
    kind = str(found.get("type", ""))
    if kind == "error" or kind.endswith(".failed"):
        error = found.get("error")
        error = error if isinstance(error, dict) else {}
        raise of_code(section, str(error.get("code") or ""), str(error.get("message") or ""))
    return ServerMessage(kind, found)


class User(Protocol):
    """Who uses a connection."""

    task: str
    """Its id where it is a task: what comes of others is not for it."""

    def told(self, message: ServerMessage) -> None:
        """Take a message."""

    def sound(self, pcm: bytes) -> None:
        """Take sound."""

    def failed(self, error: ProviderError) -> None:
        """Note that the connection is lost."""


class Link:
    """A connection, which serves one ``user`` at a time. ``used``: whether it served one before."""

    def __init__(self, section: str) -> None:
        self.socket: ServiceSocket
        self.user: User | None = None
        self.used = False
        self._section = section

    @property
    def failure(self) -> ProviderError | None:
        """Why it serves nobody further."""
        return self.socket.failure

    def detach(self) -> None:
        """Deliver to nobody."""
        self.user = None

    async def send(self, frame: Frame) -> None:
        """Send a frame. Raises ProviderError."""
        await self.socket.send(frame)

    async def close(self) -> None:
        """Close the connection within a timeout. Idempotent, never raises."""
        await self.socket.close()

    def take(self, data: Frame) -> None:
        """Take a frame of the server. Raises ProviderError."""
        if isinstance(data, bytes):
            if self.user is not None:
                self.user.sound(data)
            return
        message = read(data, self._section)
        if self.user is not None and message.task in ("", self.user.task):
            self.user.told(message)

    def lost(self, error: ProviderError) -> None:
        """Note that the connection is lost."""
        if self.user is not None:
            self.user.failed(error)


def _action(action: str, task: str, payload: Mapping[str, Any]) -> str:
    header = {"action": action, "task_id": task, "streaming": "duplex"}
    return _json({"header": header, "payload": payload})


def _json(message: Mapping[str, Any]) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))
