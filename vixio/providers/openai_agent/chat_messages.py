"""The conversation as Chat Completions has it: items to messages, and a stream to an answer.

Formats: https://platform.openai.com/docs/api-reference/chat/create and …/chat/streaming. Beyond
them, compatible servers send ``reasoning_content`` or ``reasoning`` (DeepSeek, Kimi, vLLM, Groq),
and ``extra_content`` at a call (Gemini's thought signatures); some refuse the next request of the
turn without them, so they go back as they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from vixio.core.errors import ProviderError
from vixio.core.metrics import ModelUse
from vixio.core.well_formed import well_formed
from vixio.providers.openai_agent.call_pieces import CallPieces, Known
from vixio.providers.openai_agent.model import Answer, Item, ModelTool, Words, text_of

_REASONING: Final = ("reasoning_content", "reasoning")

Message = dict[str, Any]


def to_messages(instructions: str, items: Iterable[Item]) -> list[Message]:
    """Return the messages of a request.

    Calls stand in the message of the words before them: some servers refuse two messages of the
    assistant in a row.
    """
    messages: list[Message] = []
    if instructions:
        messages.append({"role": "system", "content": instructions})
    reasoning: Item | None = None
    for item in items:
        match item.get("type"):
            case "reasoning":
                reasoning = item
            case "function_call":
                last = messages[-1] if messages else {}
                if last.get("role") != "assistant":
                    last = {"role": "assistant", "content": None}
                    messages.append(last)
                last.setdefault("tool_calls", []).append(_call(item))
                if reasoning is not None:
                    last.update({name: reasoning[name] for name in _REASONING if name in reasoning})
                    reasoning = None
            case "function_call_output":
                output = {"role": "tool", "tool_call_id": item["call_id"]}
                messages.append({**output, "content": text_of(item["output"])})
            case _:
                messages.append({"role": item["role"], "content": text_of(item["content"])})
    return messages


def to_tools(tools: Sequence[ModelTool]) -> list[Message]:
    """Return the tools of a request. Strict mode would rewrite the schemas."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            },
        }
        for tool in tools
    ]


def _call(item: Item) -> Message:
    function = {"name": item["name"], "arguments": item["arguments"]}
    call = {"id": item["call_id"], "type": "function", "function": function}
    if extra := item.get("extra_content"):
        call["extra_content"] = extra
    return call


class ChatReader:
    """Puts one streamed answer together. Raises ProviderError where it cannot be used.

    ``known``: whether a name is that of an offered tool.
    """

    def __init__(self, provider: str, known: Known) -> None:
        self._provider = provider
        self._text: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._pieces = CallPieces(known)
        self._usage: Mapping[str, Any] = {}
        self._model = ""
        self._finish = ""

    def feed(self, event: Mapping[str, Any]) -> Words | None:
        """Take an event of the stream; return the words in it, if any.

        Raises AttributeError or TypeError if it is none of Chat Completions.
        """
        self._model = self._model or str(event.get("model") or "")
        if isinstance(usage := event.get("usage"), dict):
            self._usage = usage
        words = None
        for choice in event.get("choices") or ():
            self._finish = choice.get("finish_reason") or self._finish
            words = self._delta(self._part(choice)) or words
        return words

    def answer(self) -> Answer:
        """Return the whole answer, at the end of the stream."""
        text = well_formed("".join(self._text))
        calls = self._pieces.calls
        for call in calls:  # servers cut an emoji in two
            call["arguments"] = well_formed(call["arguments"])
        if not (text or calls or self._finish):
            raise ProviderError(self._provider, "the answer broke off", reason="service")
        if self._finish == "length" and (calls or not text):
            # A call may lack a part of its arguments that nobody would miss.
            what = "the answer was cut at the limit of tokens (max_tokens)"
            raise ProviderError(self._provider, what, retryable=False, reason="service")
        items: list[Item] = []
        if self._reasoning and calls:
            said = {name: "".join(pieces) for name, pieces in self._reasoning.items()}
            items.append({"type": "reasoning", **said})
        if text:
            items.append({"role": "assistant", "content": text})
        return Answer([*items, *calls], self._use())

    def _part(self, choice: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a choice adds: its delta, or the message of an answer in one piece."""
        part: Mapping[str, Any] = choice.get("delta") or {}
        if not part and not (self._text or self._pieces.calls):
            part = choice.get("message") or {}
        return part

    def _delta(self, delta: Mapping[str, Any]) -> Words | None:
        made = delta.get("tool_calls") or ()
        for call in (made,) if isinstance(made, dict) else made:
            self._pieces.feed(call)
        if call := delta.get("function_call"):  # the API before tools
            self._pieces.feed({"index": 0, "function": call})
        for name in _REASONING:
            if isinstance(piece := delta.get(name), str) and piece:
                self._reasoning.setdefault(name, []).append(piece)
        refusal = not delta.get("content") and bool(delta.get("refusal"))
        text = delta.get("refusal") if refusal else delta.get("content")
        if isinstance(text, list):  # parts, as Mistral's servers write them beside their thoughts
            text = "".join(str(part.get("text") or "") for part in text)
        if not text:
            return None
        if not isinstance(text, str):
            raise TypeError(f"text of type {type(text).__name__}")
        self._text.append(text)
        return Words(text, refusal)

    def _use(self) -> ModelUse:
        usage = self._usage
        details = usage.get("prompt_tokens_details")
        return ModelUse(
            self._model,
            _count(usage, "prompt_tokens"),
            _count(usage, "completion_tokens"),
            _count(details, "cached_tokens") if isinstance(details, dict) else 0,
        )


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0
