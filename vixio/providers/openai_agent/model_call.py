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
    """The arguments of a model call, as in ``Model.stream_response`` of the SDK."""

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
        """Call ``model``. The caller closes the stream."""
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
        return cast(EventStream, events)  # every model of the SDK returns an async generator


class CallModel(Model):
    """A model that implements one method: :meth:`stream`."""

    @abstractmethod
    def stream(self, call: ModelCall) -> EventStream:
        """Stream the answer; the last event is a ResponseCompletedEvent. Raises ProviderError."""

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
        """Return the whole answer, read from the stream."""
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
        raise ProviderError(type(self).__name__, "the answer is incomplete")

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
        """Stream the answer."""
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
