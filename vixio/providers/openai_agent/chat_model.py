"""A model behind the Chat Completions API. Cheap to import."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

from vixio.core.errors import REQUEST, ProviderError
from vixio.core.streams import closing
from vixio.providers.openai_agent.chat_messages import ChatReader, to_messages, to_tools
from vixio.providers.openai_agent.conversations import Conversations
from vixio.providers.openai_agent.model import ModelCall, ModelStream, Words
from vixio.providers.openai_agent.offered import OfferedTools
from vixio.providers.openai_client import SharedClient
from vixio.providers.service_answer import ServerAnswer

_log = logging.getLogger(__name__)

_ONLY_WITH_TOOLS: Final = "parallel_tool_calls"


class ChatModel:
    """Streams answers over a shared ``client``.

    ``options``: further fields of each request. ``extra``: fields that are specific to one server,
    which come before all others. ``quiet``: fields that tell it not to think; a model that refuses
    them is asked without. ``conversations``: those that the server keeps, by ``chatId``.
    """

    def __init__(
        self,
        client: SharedClient,
        provider: str,
        model: str,
        options: Mapping[str, Any],
        extra: Mapping[str, Any],
        *,
        quiet: Mapping[str, Any] = MappingProxyType({}),
        conversations: Conversations | None = None,
    ) -> None:
        self._client = client
        self._provider = provider
        self._model = model
        self._options = options
        self._extra = extra
        self._quiet = quiet
        self._thoughts = False
        """Whether the server refuses calls without the thoughts before them."""
        self._conversations = conversations

    async def stream(self, call: ModelCall) -> ModelStream:
        """Request an answer; see :class:`~vixio.providers.openai_agent.model.Model`."""
        answer = await self._asked(self._body(call))
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

    async def _asked(self, body: dict[str, Any]) -> ServerAnswer:
        """Ask; once more, otherwise, where the server refuses how it is told to think."""
        quiet = self._quiet
        try:
            return await self._client.post_json("chat/completions", {**quiet, **self._whole(body)})
        except ProviderError as error:
            told = f"{error} {error.detail}" if error.reason == REQUEST else ""
            if "reasoning_content" in told and not self._thoughts:
                self._thoughts = True
            elif "thinking" in told and quiet:
                self._quiet = quiet = {}
            else:
                raise
            _log.info("model asked otherwise", extra={"model": self._model, "error": str(error)})
        return await self._client.post_json("chat/completions", {**quiet, **self._whole(body)})

    def _whole(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a request; its calls with the thoughts that this server wants back (DeepSeek).

        Those of earlier turns were not kept, and are empty.
        """
        if not self._thoughts:
            return body
        told = [
            {"reasoning_content": "", **each} if "tool_calls" in each else each
            for each in body["messages"]
        ]
        return {**body, "messages": told}

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
        if self._conversations is not None:
            chat = self._conversations.of(call) or uuid4().hex
            self._conversations.note(call, chat)
            body["chatId"] = chat
        return {**body, **self._extra}
