"""A model of the openai-agents SDK: the Responses API, and LiteLLM. Importing this imports the SDK.

The SDK knows the events of these services. The loop around the model calls is our own
(``turn_loop``), so nothing of its runner is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from agents import FunctionTool, ModelResponse, ModelSettings, ModelTracing, Tool, Usage
from agents import Model as SdkModelType
from agents.tool_context import ToolContext
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseErrorEvent,
    ResponseFailedEvent,
    ResponseIncompleteEvent,
    ResponseRefusalDeltaEvent,
    ResponseTextDeltaEvent,
)

from vixio.core.environment_proxy import EnvironmentProxy
from vixio.core.metrics import ModelUse
from vixio.core.streams import closing
from vixio.providers.openai_agent.model import (
    Answer,
    Item,
    ModelCall,
    ModelStream,
    ModelTool,
    Words,
)
from vixio.providers.openai_agent.sdk_errors import classify
from vixio.providers.service_errors import Service, of_code

Items = list[Item]


class SdkModel:
    """Streams the answers of ``inner``. Raises ProviderError.

    ``settings``: of each call. ``fit``: adapts the conversation to the model's API. ``timeout``:
    seconds that its client waits for an answer, for messages; so is ``proxy``, which it uses.
    """

    def __init__(
        self,
        inner: SdkModelType,
        provider: str,
        settings: ModelSettings,
        *,
        fit: Callable[[Sequence[Item]], Items] = list,
        timeout: float = 0.0,
        proxy: EnvironmentProxy | None = None,
    ) -> None:
        self._inner = inner
        self._provider = provider
        self._settings = settings
        self._fit = fit
        self._timeout = timeout
        self._proxy = proxy

    async def stream(self, call: ModelCall) -> ModelStream:
        """See :class:`~vixio.providers.openai_agent.model.Model`."""
        settings = self._settings if call.may_call else replace(self._settings, tool_choice="none")
        events = self._inner.stream_response(
            call.instructions or None,
            cast("Any", self._fit(call.items)),
            settings,
            [_function_tool(tool) for tool in call.tools],
            None,
            [],
            ModelTracing.DISABLED,
            previous_response_id=None,
            conversation_id=None,
            prompt=None,
        )
        try:
            async with closing(events) as incoming:
                async for event in incoming:
                    match event:
                        case ResponseTextDeltaEvent():
                            yield Words(event.delta)
                        case ResponseRefusalDeltaEvent():
                            yield Words(event.delta, refusal=True)
                        # Cut by max_tokens or a filter: the text so far is the answer.
                        case ResponseCompletedEvent() | ResponseIncompleteEvent():
                            yield _answer(event.response)
                        case ResponseErrorEvent():
                            raise of_code(Service(self._provider), event.code or "", event.message)
                        case ResponseFailedEvent():
                            error = event.response.error
                            code, message = (error.code, error.message) if error else ("", "")
                            raise of_code(Service(self._provider), code, message or "no answer")
        except Exception as error:  # reason: vendors' clients raise anything
            raise classify(self._provider, error, self._timeout, self._proxy) from error


def _function_tool(tool: ModelTool) -> Tool:
    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.parameters,
        on_invoke_tool=_not_here,
        strict_json_schema=False,  # strict mode would rewrite the schema
    )


async def _not_here(context: ToolContext[Any], arguments: str) -> str:
    """Never called: a tool of the SDK has to have a function, but only its runner calls that."""
    raise AssertionError("tools are run by turn_loop")


def _answer(response: Response) -> Answer:
    whole = ModelResponse(output=response.output, usage=Usage(), response_id=response.id)
    usage = response.usage
    details = usage.input_tokens_details if usage else None
    use = ModelUse(
        str(response.model),
        usage.input_tokens if usage else 0,
        usage.output_tokens if usage else 0,
        (details.cached_tokens or 0) if details else 0,
    )
    return Answer([cast("Item", item) for item in whole.to_input_items()], use)
