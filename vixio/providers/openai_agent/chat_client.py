"""What the SDK's chat model needs of OpenAI's client, without the client.

The client walks through every message and every tool of a request by its type hints, to rename
fields whose Python name differs from the wire's; Chat Completions has none. It also makes each
token of the answer an object of four classes by the same hints. Together they take more time than
all the rest of a turn. Here a request is sent as the SDK made it, and an event that holds nothing
but text is made directly. Importing this imports the client's types.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import httpx2
import pydantic
from openai import NotGiven, Omit
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta

from vixio.core.errors import ProviderTimeout
from vixio.providers.openai_client import SharedClient, events
from vixio.providers.openai_status import unreachable

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ModelT = TypeVar("ModelT", bound=pydantic.BaseModel)

_CHUNK: Final = frozenset(ChatCompletionChunk.model_fields)
_CHOICE: Final = frozenset({"index", "delta", "finish_reason", "logprobs"})
_DELTA: Final = frozenset({"role", "content"})
_NOT_SENT: Final = frozenset({"extra_query", "timeout"})


class ChatClient:
    """``chat.completions.create`` over a shared client. The SDK takes any client that has it."""

    def __init__(self, client: SharedClient, provider: str) -> None:
        self.base_url = client.base_url
        self._client = client
        self._provider = provider

    def for_sdk(self) -> AsyncOpenAI:
        """Return it as the SDK's types have it."""
        client: Any = self
        made: AsyncOpenAI = client
        return made

    @property
    def chat(self) -> Self:
        """As in the client."""
        return self

    @property
    def completions(self) -> Self:
        """As in the client."""
        return self

    async def create(
        self,
        *,
        extra_body: Mapping[str, Any] | None = None,
        extra_headers: Mapping[str, str] | None = None,
        **fields: Any,  # noqa: ANN401 - JSON, as the SDK has converted it
    ) -> ChatStream:
        """Request a stream. Raises ProviderError."""
        body = {
            name: value
            for name, value in fields.items()
            if name not in _NOT_SENT and not isinstance(value, Omit | NotGiven)
        }
        response = await self._client.post_json(
            "chat/completions", {**body, **(extra_body or {})}, extra_headers
        )
        return ChatStream(response, self._provider, self._client.timeout)


class ChatStream:
    """The events of one answer. Raises ProviderError while it is read."""

    def __init__(self, response: httpx2.Response, provider: str, timeout: float) -> None:
        self.response = response
        self._provider = provider
        self._timeout = timeout

    async def __aiter__(self) -> AsyncIterator[ChatCompletionChunk]:
        try:
            async for body in events(self.response, self._provider):
                yield text_chunk(body) or ChatCompletionChunk.construct(**body)
        except httpx2.TimeoutException:
            raise ProviderTimeout(self._provider, "further token", self._timeout) from None
        except httpx2.TransportError as error:
            raise unreachable(self._provider, str(error) or type(error).__name__) from error

    async def close(self) -> None:
        """End the request."""
        await self.response.aclose()


def text_chunk(body: Mapping[str, Any]) -> ChatCompletionChunk | None:
    """Return an event of a stream that holds nothing but text; None for any other."""
    if body.get("usage") is not None or body.keys() - _CHUNK:
        return None
    choices: list[Choice] = []
    for choice in body.get("choices") or ():
        if not isinstance(choice, dict) or choice.keys() - _CHOICE or choice.get("logprobs"):
            return None
        delta = choice.get("delta")
        if not isinstance(delta, dict) or delta.keys() - _DELTA:
            return None
        choices.append(_made(Choice, {**choice, "delta": _made(ChoiceDelta, delta)}))
    return _made(ChatCompletionChunk, {**body, "choices": choices})


def _made(model: type[ModelT], values: Mapping[str, Any]) -> ModelT:
    """Return a model of these values without validation, as pydantic makes it."""
    make: Any = pydantic.BaseModel.model_construct  # the client's own converts each field
    made: ModelT = make.__func__(model, None, **values)
    return made
