"""A model behind the Chat Completions API. Cheap to import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vixio.core.errors import ProviderError
from vixio.core.streams import closing
from vixio.providers.openai_agent.chat_messages import ChatReader, to_messages, to_tools
from vixio.providers.openai_agent.model import ModelCall, ModelStream, Words
from vixio.providers.openai_agent.offered import OfferedTools
from vixio.providers.openai_client import SharedClient

_ONLY_WITH_TOOLS: Final = "parallel_tool_calls"


class ChatModel:
    """Streams answers over a shared ``client``.

    ``options``: further fields of each request. ``extra``: fields that are specific to one server,
    which come before all others.
    """

    def __init__(
        self,
        client: SharedClient,
        provider: str,
        model: str,
        options: Mapping[str, Any],
        extra: Mapping[str, Any],
    ) -> None:
        self._client = client
        self._provider = provider
        self._model = model
        self._options = options
        self._extra = extra

    async def stream(self, call: ModelCall) -> ModelStream:
        """Request an answer; see :class:`~vixio.providers.openai_agent.model.Model`."""
        answer = await self._client.post_json("chat/completions", self._body(call))
        offered = OfferedTools(call.tools)
        reader = ChatReader(self._provider, lambda name: offered.find(name) is not None)
        try:
            async with closing(answer.events()) as incoming:
                async for event in incoming:
                    if words := self._read(reader, event):
                        yield words
        finally:
            answer.close()
        yield reader.answer()

    def _read(self, reader: ChatReader, event: Mapping[str, Any]) -> Words | None:
        try:
            return reader.feed(event)
        except (AttributeError, TypeError) as error:
            what = "an event that Chat Completions does not have"
            raise ProviderError(self._provider, what, reason="service") from error

    def _body(self, call: ModelCall) -> dict[str, Any]:
        body = {
            "model": self._model,
            "messages": to_messages(call.instructions, call.items),
            "stream": True,
            **self._options,
        }
        if call.tools:
            body["tools"] = to_tools(call.tools)
            if not call.may_call:
                body["tool_choice"] = "none"
        else:
            body.pop(_ONLY_WITH_TOOLS, None)
        return {**body, **self._extra}
