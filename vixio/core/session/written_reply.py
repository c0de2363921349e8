"""The reply of a typed conversation, whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from vixio.core.chunk import Chunk, Farewell, Notice, TextDelta, ToolCalled, ToolReturned
from vixio.core.metrics import ModelUse


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A tool call of a turn. ``arguments``: JSON text; ``output``: what the model read.

    ``source``: where the tool comes from; empty if the model invented it.
    """

    name: str
    arguments: str
    output: str
    success: bool
    seconds: float
    source: str = ""


@dataclass(frozen=True, slots=True)
class WrittenReply:
    """The assistant's answer to one question."""

    text: str
    tools: tuple[ToolRun, ...] = ()
    """The tool calls, in the order of their results."""
    notices: tuple[str, ...] = ()
    """What tools showed; a device would have it on its screen."""
    models: tuple[ModelUse, ...] = ()
    """The usage of each model answer, one a round."""
    ended: bool = False
    """Whether the assistant ended the conversation. It may be continued all the same."""
    outcome: str = "answered"
    """As on record (docs/data.md): ``failed:no_answer`` if the agent wrote nothing."""

    @property
    def input_tokens(self) -> int:
        """The tokens that models read for it."""
        return sum(use.input_tokens for use in self.models)

    @property
    def output_tokens(self) -> int:
        """The tokens that models wrote for it."""
        return sum(use.output_tokens for use in self.models)


@dataclass(slots=True)
class ReplyCollector:
    """Puts the pieces of a reply together.

    ``shown``: whether the user sees the pieces as they come, and so has read a reply that is cut.
    """

    shown: bool = False
    text: str = ""
    tools: list[ToolRun] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    models: list[ModelUse] = field(default_factory=list)
    ended: bool = False
    outcome: str = ""
    _calls: dict[str, ToolCalled] = field(default_factory=dict)

    def add(self, piece: Chunk) -> None:
        """Take a piece."""
        match piece:
            case TextDelta(text=text):
                self.text += text
            case ToolCalled(call_id=call_id):
                self._calls[call_id] = piece
            case ToolReturned(call_id=call_id, output=output, success=success, seconds=seconds):
                called = self._calls.pop(call_id, None)
                if called is None:
                    called = ToolCalled(piece.turn_id, call_id, "?", "")
                said = called.name, called.arguments
                self.tools.append(ToolRun(*said, output, success, seconds, called.source))
            case Notice(text=text):
                self.notices.append(text)
            case Farewell():
                self.ended = True
            case _:
                pass

    @property
    def seen(self) -> str:
        """The text that the user has read so far."""
        return self.text if self.shown else ""

    def whole(self) -> WrittenReply:
        """Return the reply."""
        pieces = self.text, tuple(self.tools), tuple(self.notices), tuple(self.models)
        return WrittenReply(*pieces, self.ended, self.outcome)
