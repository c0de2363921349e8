"""The phrase book as a model: what it understands becomes a real tool call or a sentence.

Tool calls, results, history and changing tools take exactly the path that a language model takes.
Importing this imports the SDK.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

from agents import FunctionTool, Model, ModelResponse, ModelSettings, ModelTracing, Tool, Usage
from agents.agent_output import AgentOutputSchemaBase
from agents.handoffs import Handoff
from agents.items import TResponseInputItem, TResponseStreamEvent
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage
from openai.types.responses import ResponseOutputText as OutputText
from openai.types.responses.response_prompt_param import ResponsePromptParam

from vixio.phrasebook import Call, CompiledPhrases, PhraseBook, ToolSignature
from vixio.providers.openai_agent.response_events import response_events

_HAN = (("\u3400", "\u9fff"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003134f"))

OutputItem = ResponseOutputMessage | ResponseFunctionToolCall


class PhraseBookModel(Model):
    """Answers from the phrase book of ``language``, or of the language that was typed or heard.

    Stateless: what was said and what the tools answered are read from the input each time, and the
    phrases are compiled for the tools of that very call (cached by their content).
    """

    def __init__(self, language: str = "") -> None:
        self._language = language

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> ModelResponse:
        """Answer in one piece."""
        item = await self._answer(input, tools)
        return ModelResponse(output=[item], usage=Usage(requests=1), response_id=None)

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Answer with the events of a streamed response."""
        item = await self._answer(input, tools)
        for event in response_events(item, "phrasebook", time.time()):
            yield event

    async def _answer(
        self, input: str | list[TResponseInputItem], tools: Sequence[Tool]
    ) -> OutputItem:
        text, results = _read(input)
        language = self._language or ("zh" if _has_han(text) else "en")
        signatures = [
            ToolSignature(tool.name, tool.description, tool.params_json_schema)
            for tool in tools
            if isinstance(tool, FunctionTool)
        ]
        # A new list of tools takes some 10 ms to compile and the first book longer, so not here.
        return await asyncio.to_thread(_decide, language, signatures, text, results)


def _decide(
    language: str, signatures: Sequence[ToolSignature], text: str, results: Sequence[str]
) -> OutputItem:
    book = PhraseBook.load(language)
    phrases: CompiledPhrases = book.compile(signatures)
    match = phrases.match(text)
    if match is None:
        # After a result: the tool that was called is gone, and the phrase with it.
        return _say(book.phrase("tool_failed" if results else "not_understood"))
    step = match.proceed(results)
    if isinstance(step, Call):
        return ResponseFunctionToolCall(
            id=f"fc_{uuid4().hex[:24]}",
            call_id=f"call_{uuid4().hex[:24]}",
            type="function_call",
            name=step.tool,
            arguments=json.dumps(step.arguments, ensure_ascii=False),
            status="completed",
        )
    return _say(step)


def _say(text: str) -> ResponseOutputMessage:
    return ResponseOutputMessage(
        id=f"msg_{uuid4().hex[:24]}",
        type="message",
        role="assistant",
        status="completed",
        content=[OutputText(type="output_text", text=text, annotations=[], logprobs=[])],
    )


def _read(input: str | list[TResponseInputItem]) -> tuple[str, list[str]]:
    """Return what the user said last, and what the tools have answered since."""
    if isinstance(input, str):
        return input, []
    results: list[str] = []
    for item in reversed(input):
        if item.get("type") == "function_call_output":
            results.append(_text_of(item.get("output")))
        elif item.get("role") == "user":
            return _text_of(item.get("content")), results[::-1]
    return "", results[::-1]


def _text_of(content: object) -> str:
    """Return the text of a message or an output, whole or in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if "text" in part)
    return ""


def _has_han(text: str) -> bool:
    return any(low <= character <= high for character in text for low, high in _HAN)
