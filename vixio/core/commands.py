"""Commands to the session of a device, from anywhere in the cluster, and their results.

A command is a small value that can travel between processes as JSON (:func:`encode`,
:func:`decode`). The process that serves the device carries it out
(``vixio.core.session.commands``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from vixio.core.session.speech import Priority
from vixio.core.tools.types import JsonObject

__all__ = [
    "Ask",
    "Close",
    "Command",
    "CommandResult",
    "CommandStatus",
    "Custom",
    "Interrupt",
    "Reconfigure",
    "Say",
    "Speech",
    "decode",
    "encode",
]

MAX_BYTES: Final = 256 * 1024
"""Of a command, and of the value of a result, as JSON."""

MAX_TEXT: Final = 10_000
"""Characters to speak: about ten minutes."""


@dataclass(frozen=True, slots=True)
class Speech:
    """What :class:`Say` and :class:`Ask` have in common."""

    text: str
    priority: Priority = Priority.NORMAL
    interruptible: bool = True
    """Whether the user's voice may cut it."""
    wait: bool = False
    """Whether the result comes at the end of the speech, with what was heard, or at once; what is
    refused is known at once."""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("there is nothing to say")
        if len(self.text) > MAX_TEXT:
            raise ValueError(f"the text has more than {MAX_TEXT} characters")


@dataclass(frozen=True, slots=True)
class Say(Speech):
    """Speak a text as it is."""


@dataclass(frozen=True, slots=True)
class Ask(Speech):
    """Answer a text as if the user had said it; it never counts as the yes to a tool."""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Cut the reply under way."""

    reason: str = "command"


@dataclass(frozen=True, slots=True)
class Reconfigure:
    """Serve the device by another profile from its next turn on.

    ``changes``: fields of :class:`~vixio.core.device.DeviceProfile` that are texts, by name, for
    this connection. Without any, the process looks the device's profile up anew.
    """

    changes: dict[str, str] = field(default_factory=dict)

    NAMES = ("name", "place", "user", "language", "instructions", "wake_greeting")

    def __post_init__(self) -> None:
        for name, value in self.changes.items():
            if name not in self.NAMES or not isinstance(value, str):
                raise ValueError(
                    f"{name!r} cannot be changed so; these can, to a text: {', '.join(self.NAMES)}"
                )


@dataclass(frozen=True, slots=True)
class Close:
    """Close the device's connection."""

    reason: str = "closed by the server"


@dataclass(frozen=True, slots=True)
class Custom:
    """A command of an extension, by the name under which its handler is registered."""

    name: str
    arguments: JsonObject = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a custom command needs a name")


Command = Say | Ask | Interrupt | Reconfigure | Close | Custom

_TYPES: Final[dict[str, type[Command]]] = {
    "say": Say,
    "ask": Ask,
    "interrupt": Interrupt,
    "reconfigure": Reconfigure,
    "close": Close,
    "custom": Custom,
}
_NAMES: Final = {kind: name for name, kind in _TYPES.items()}


class CommandStatus(StrEnum):
    """What became of a command."""

    DONE = "done"
    NOT_CONNECTED = "not_connected"
    """No process serves the device: it was not carried out."""
    TIMED_OUT = "timed_out"
    """No result in time, or the process that served the device ended: it may have taken effect."""
    FAILED = "failed"
    """``message`` says why."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The answer to a command.

    ``value``: JSON; of a speech that is over ``{"status", "heard"}`` and, in quiet hours, ``until``
    (:class:`~vixio.core.session.speech.SpeechOutcome`), of a custom command its handler's.
    """

    status: CommandStatus
    value: Any = None
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was carried out."""
        return self.status is CommandStatus.DONE

    def to_json(self) -> JsonObject:
        """Return the result as JSON values. Raises ValueError for a value that is none."""
        _check_size(self.value, "the result")
        return {"status": self.status.value, "value": self.value, "message": self.message}

    @classmethod
    def from_json(cls, data: Any) -> CommandResult:  # noqa: ANN401 - it is checked here
        """Read what :meth:`to_json` returned. Raises ValueError."""
        match data:
            case {"status": str(status), "value": value, "message": str(message)}:
                return cls(CommandStatus(status), value, message)
        raise ValueError("this is no result of a command")


def encode(command: Command) -> JsonObject:
    """Return a command as JSON values. Raises ValueError if it has others or is too large."""
    body: JsonObject = {"type": _NAMES[type(command)]}
    for each in fields(command):
        value = getattr(command, each.name)
        body[each.name] = value.name.lower() if isinstance(value, Priority) else value
    _check_size(body, "the command")
    return body


def decode(data: Any) -> Command:  # noqa: ANN401 - it is checked here
    """Read a command from JSON values. Fields that are missing have their defaults.

    Raises ValueError, which says what is wrong.
    """
    name = data.get("type") if isinstance(data, dict) else None
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"a command is an object whose type is one of {', '.join(_TYPES)}")
    values = {name: value for name, value in data.items() if name != "type"}
    known = {each.name: each for each in fields(kind)}
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"{data['type']} has no {name!r}")
        if name == "priority":
            values[name] = _priority(value)
        elif not isinstance(value, _FIELD_TYPES[name]):
            raise ValueError(f"{name} must be {_WORDS[_FIELD_TYPES[name]]}")
    try:
        return kind(**values)
    except TypeError:
        raise ValueError(f"{data['type']} lacks a required field") from None


_FIELD_TYPES: Final[dict[str, type]] = {
    "text": str,
    "interruptible": bool,
    "wait": bool,
    "reason": str,
    "changes": dict,
    "name": str,
    "arguments": dict,
}
_WORDS: Final = {str: "a text", bool: "true or false", dict: "an object"}


def _priority(value: object) -> Priority:
    names = [each.name.lower() for each in Priority]
    if value not in names:
        raise ValueError(f"priority must be one of {', '.join(names)}")
    return Priority[str(value).upper()]


def _check_size(value: Any, what: str) -> None:  # noqa: ANN401 - any value
    try:
        size = len(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"{what} is not JSON") from None
    if size > MAX_BYTES:
        raise ValueError(f"{what} has {size} bytes, {MAX_BYTES} at most")
