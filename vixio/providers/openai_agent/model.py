"""A language model as the agent loop calls it: one call in, words and the whole answer out.

The conversation is a list of items in the shape of OpenAI's Responses API, whatever the model's own
API: messages ``{"role", "content"}``, ``function_call`` and ``function_call_output``. An answer's
items go into the next call of the same turn as they are, with what the service added to them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vixio.core.errors import ProviderError
from vixio.core.metrics import ModelUse
from vixio.core.tools.types import JsonObject, ToolDefinition

Item = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class ModelTool:
    """A tool as a model sees it. ``parameters``: a JSON Schema of an object.

    ``definition``: what a call of it runs.
    """

    name: str
    description: str
    parameters: JsonObject
    definition: ToolDefinition


@dataclass(frozen=True, slots=True)
class ModelCall:
    """What a model is asked. ``may_call``: false where it has to answer in words.

    ``language`` (BCP 47): of the voice. ``user``: the id of the device that asks, empty if there is
    none. ``failure``: of a better model, which was to answer.
    """

    instructions: str
    items: Sequence[Item]
    tools: Sequence[ModelTool] = ()
    may_call: bool = True
    language: str = ""
    user: str = ""
    failure: ProviderError | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """A piece of the text for the user. ``refusal``: the model says why it does not answer."""

    text: str
    refusal: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer, after its words: ``items`` to continue the conversation with."""

    items: Sequence[Item]
    use: ModelUse

    @property
    def calls(self) -> Sequence[Item]:
        """Its tool calls, in the model's order: ``call_id``, ``name``, ``arguments`` (JSON)."""
        return [item for item in self.items if item.get("type") == "function_call"]


def text_of(content: object) -> str:
    """Return the text of a message or an output, which may be in parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or part.get("refusal") or "") for part in content)
    return content if isinstance(content, str) else ""


ModelStream = AsyncGenerator[Words | Answer, None]


class Declined(ProviderError):
    """A model for a few sentences has none for this one, and the models before it have failed."""

    def __init__(self, failure: ProviderError) -> None:
        super().__init__(failure.provider, "failed before", retryable=False, reason=failure.reason)
        self.__cause__ = failure


class Model(Protocol):
    """A model."""

    def stream(self, call: ModelCall) -> ModelStream:
        """Stream the answer: words, then one :class:`Answer`, the last event.

        The caller closes the stream. Raises ProviderError.
        """
        ...
