"""An agent of Coze: ``POST /v3/chat``, answered by server-sent events."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, SecretStr

from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable
from vixio.core.metrics import ModelUse
from vixio.core.streams import closing
from vixio.core.text_forms import of_form
from vixio.providers.openai_agent.backend import replicated
from vixio.providers.openai_agent.hosted import (
    NOBODY,
    HostedBackend,
    HostedModel,
    HostedSettings,
    Variables,
    counted,
    filled,
    said,
    server,
)
from vixio.providers.openai_agent.model import (
    Answer,
    Item,
    ModelCall,
    ModelStream,
    Words,
    text_of,
)
from vixio.providers.registry import ProviderFactory
from vixio.providers.service_answer import ServerAnswer
from vixio.providers.service_client import Server, ServiceClient
from vixio.providers.service_errors import of_body, one_line

NAME: Final = "coze"
TOKENS: Final = "https://www.coze.cn/open/oauth/pats"
HOME: Final = "https://www.coze.cn/home"

_url = of_form(r"https?://[^\s/?#]+[^\s?#]*", "an address such as https://api.coze.cn")


class CozeAgentSettings(HostedSettings):
    """Options of the section ``agent`` when its name is ``coze``. Times are in seconds."""

    base_url: Annotated[str, AfterValidator(_url)] = "https://api.coze.cn"
    """``https://api.coze.com`` outside China."""
    bot_id: str = Field(description="Of the agent, from the address of its page")
    api_key: SecretStr | None = None
    """A personal access token that may chat. Default: COZE_API_TOKEN."""
    variables: Variables


class _Client(ServiceClient):
    def refusal(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        code, message = _told(_parsed(body))
        if not code:
            return of_body(self.service, status, body, headers)
        return _of_code(code, message)


class CozeModel(HostedModel):
    """One agent of Coze, published to the API."""

    def __init__(self, settings: CozeAgentSettings) -> None:
        self._settings = settings
        timeout = max(settings.first_token_timeout, settings.stall_timeout)
        client = _Client(
            NAME, "agent", self._server, timeout=timeout, connect_timeout=settings.connect_timeout
        )
        super().__init__(NAME, client)

    async def stream(self, call: ModelCall) -> ModelStream:
        chat, conversation = "", self.conversations.of(call)
        await self.settled(conversation)
        answer = await self._asked(call, conversation)
        words, calls, use = "", list[Item](), None
        try:
            async with closing(answer.events(named=True)) as events:
                async for event in events:
                    conversation = str(event.get("conversation_id") or conversation)
                    chat = str(event.get("chat_id") or chat)
                    match event["event"]:
                        case "conversation.message.delta" if _is_said(event):
                            words += (more := str(event.get("content") or ""))
                            if more:
                                yield Words(more)
                        case "conversation.chat.created" | "conversation.chat.in_progress":
                            chat = str(event.get("id") or chat)
                        case "conversation.chat.requires_action":
                            calls, use = (
                                _calls(event),
                                _use(event),
                            )
                            break
                        case "conversation.chat.completed":
                            use = _use(event)
                            break
                        case "conversation.chat.failed":
                            raise _of_code(*_told(event.get("last_error")))
                        case "error":
                            raise _of_code(*_told(event))
        finally:
            answer.close()
            self.conversations.note(call, conversation)
            if chat and use is None:
                self.stop(conversation, self._cancel(chat, conversation))
        if use is None:
            raise ProviderError(NAME, "the answer broke off", reason="service")
        items: list[Item] = [{"role": "assistant", "content": words}] if words else []
        yield Answer([*items, *calls], use)

    async def verify(self) -> bool:
        """Ask what the agent is, which costs nothing."""
        client, query = self.client, {"bot_id": self._settings.bot_id}
        answer = await client.run(client.get("v1/bot/get_online_info", query))
        code, message = _told(_parsed(await answer.read()))
        if code:
            raise _of_code(code, message)
        return True

    async def _asked(self, call: ModelCall, conversation: str) -> ServerAnswer:
        outputs, made = _outputs(call.items)
        if outputs:
            query = {"conversation_id": made["conversation_id"], "chat_id": made["chat_id"]}
            body: dict[str, Any] = {"tool_outputs": outputs, "stream": True}
            answer = await self.client.post_json("v3/chat/submit_tool_outputs", body, query)
        else:
            message = {
                "role": "user",
                "type": "question",
                "content": said(call),
                "content_type": "text",
            }
            body = {
                "bot_id": self._settings.bot_id,
                "user_id": call.user or NOBODY,
                "stream": True,
                "additional_messages": [message],
                "custom_variables": filled(self._settings.variables, call),
            }
            query = {"conversation_id": conversation} if conversation else {}
            answer = await self.client.post_json("v3/chat", body, query)
        if "event-stream" in answer.content_type:
            return answer
        code, text = _told(_parsed(await answer.read()))  # a refusal comes with the status 200
        raise _of_code(code, text)

    async def _cancel(self, chat: str, conversation: str) -> None:
        body = {"chat_id": chat, "conversation_id": conversation}
        (await self.client.post_json("v3/chat/cancel", body)).close()

    def _server(self) -> Server:
        settings = self._settings
        given = settings.api_key.get_secret_value() if settings.api_key is not None else ""
        key = given or os.environ.get("COZE_API_TOKEN", "")
        missing = f"set agent.api_key or COZE_API_TOKEN; tokens are made at {TOKENS}"
        return server(NAME, settings.base_url, key, "api_key", missing)


def _is_said(event: Mapping[str, Any]) -> bool:
    kind, form = event.get("type"), event.get("content_type", "text")
    return (event.get("role"), kind, form) == ("assistant", "answer", "text")


def _calls(event: Mapping[str, Any]) -> list[Item]:
    """Return the calls that a chat waits for, each with where its result goes."""
    try:
        where = {"chat_id": str(event["id"]), "conversation_id": str(event["conversation_id"])}
        found = event["required_action"]["submit_tool_outputs"]["tool_calls"]
        return [
            {
                "type": "function_call",
                "call_id": str(each["id"]),
                "name": str(each["function"]["name"]),
                "arguments": str(each["function"].get("arguments") or "{}"),
                NAME: {**where, "call_id": str(each["id"])},
            }
            for each in found
        ]
    except (KeyError, TypeError, AttributeError):
        text = "the service waits for something that is no call of a tool"
        raise ProviderError(NAME, text, retryable=False, reason="service") from None


def _outputs(items: Sequence[Item]) -> tuple[list[dict[str, str]], Mapping[str, str]]:
    """Return the results at the end of a conversation, and what chat they are for."""
    outputs: dict[str, str] = {}
    for item in reversed(items):
        if item.get("type") != "function_call_output":
            break
        outputs[item["call_id"]] = text_of(item["output"])
    made = [item for item in items if item.get("call_id") in outputs and NAME in item]
    told = [
        {"tool_call_id": item[NAME]["call_id"], "output": outputs[item["call_id"]]} for item in made
    ]
    return told, made[-1][NAME] if made else {}


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _told(answer: object) -> tuple[int, str]:
    """Return the code and the message of an answer or an error; 0 for none."""
    found = answer if isinstance(answer, dict) else {}
    code = found.get("code")
    return (code if isinstance(code, int) else 0), str(found.get("msg") or "no reason given")


def _of_code(code: int, message: str) -> ProviderError:
    said_ = f"{one_line(message)} ({code})"
    match code:
        case 4100 | 4101 | 700012006:
            text = (
                f"Coze refuses agent.api_key, or it may not chat: {said_}; see {TOKENS}, those of "
                f"coze.com need another agent.base_url"
            )
            return ProviderUnavailable(NAME, text, reason="no_key")
        case 4015 | 4200 | 702093018:
            text = f"no agent.bot_id is published to the API (Agent as API): {said_}; see {HOME}"
            return ProviderUnavailable(NAME, text, reason="no_model")
        case 4011 | 4027 | 4028 | 4033:
            text = f"the account has no quota left: {said_}; see {HOME}"
            return ProviderUnavailable(NAME, text, reason="quota")
        case 4013 | 4016:
            return ProviderError(NAME, f"Coze is busy: {said_}", reason="busy")
        case 4000 | 4001 | 4002:
            text = f"Coze refuses the request: {said_}"
            return ProviderError(NAME, text, retryable=False, reason=REQUEST)
    return ProviderError(NAME, f"Coze reports: {said_}", reason="service")


def _use(event: Mapping[str, Any]) -> ModelUse:
    return counted(event.get("usage"), "input_count", "output_count")


def _create(settings: CozeAgentSettings) -> HostedBackend:
    return HostedBackend(NAME, settings, lambda: CozeModel(settings))


FACTORY = ProviderFactory(
    settings_model=CozeAgentSettings,
    create=_create,
    servers="base_url",
    create_shared=replicated(NAME),
)
