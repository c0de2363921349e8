"""One call of a model as one value. Importing this imports the SDK."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from agents import Model, ModelResponse, ModelSettings, ModelTracing, Tool, Usage
from agents.agent_output import AgentOutputSchemaBase
from agents.handoffs import Handoff
from agents.items import TResponseInputItem, TResponseStreamEvent
from openai.types.responses import Response, ResponseCompletedEvent
from openai.types.responses.response_prompt_param import ResponsePromptParam

from vixio.core.errors import ProviderError

EventStream = AsyncGenerator[TResponseStreamEvent, None]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """What the SDK hands to a model. The fields are those of ``Model.stream_response``."""

    system_instructions: str | None
    input: str | list[TResponseInputItem]
    model_settings: ModelSettings
    tools: list[Tool]
    output_schema: AgentOutputSchemaBase | None
    handoffs: list[Handoff[Any, Any]]
    tracing: ModelTracing
    previous_response_id: str | None = None
    conversation_id: str | None = None
    prompt: ResponsePromptParam | None = None

    def stream(self, model: Model) -> EventStream:
        """Ask ``model``; the stream has to be closed."""
        events = model.stream_response(
            self.system_instructions,
            self.input,
            self.model_settings,
            self.tools,
            self.output_schema,
            self.handoffs,
            self.tracing,
            previous_response_id=self.previous_response_id,
            conversation_id=self.conversation_id,
            prompt=self.prompt,
        )
        return cast(EventStream, events)  # every model of the SDK writes an async generator


class CallModel(Model):
    """A model that implements one method: :meth:`stream`."""

    @abstractmethod
    def stream(self, call: ModelCall) -> EventStream:
        """Answer as it comes; the last event is a ResponseCompletedEvent. Raises ProviderError."""

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
        """Answer in one piece: the stream, taken to its end."""
        call = ModelCall(
            system_instructions,
            input,
            model_settings,
            tools,
            output_schema,
            handoffs,
            tracing,
            previous_response_id,
            conversation_id,
            prompt,
        )
        async with aclosing(self.stream(call)) as events:
            async for event in events:
                if isinstance(event, ResponseCompletedEvent):
                    return _in_one_piece(event.response)
        raise ProviderError(type(self).__name__, "the answer has no end")

    def stream_response(
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
        """Answer as it comes."""
        return self.stream(
            ModelCall(
                system_instructions,
                input,
                model_settings,
                tools,
                output_schema,
                handoffs,
                tracing,
                previous_response_id,
                conversation_id,
                prompt,
            )
        )


def _in_one_piece(response: Response) -> ModelResponse:
    usage = Usage(requests=1)
    if (used := response.usage) is not None:
        usage = Usage(
            requests=1,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            total_tokens=used.total_tokens,
        )
    return ModelResponse(output=response.output, usage=usage, response_id=response.id)
