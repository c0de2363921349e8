"""An agent of Dify: ``POST /chat-messages``, answered by server-sent events."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

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
from vixio.providers.openai_agent.model import Answer, ModelCall, ModelStream, Words
from vixio.providers.registry import ProviderFactory
from vixio.providers.service_client import Server, ServiceClient
from vixio.providers.service_errors import of_body, one_line

NAME: Final = "dify"

_url = of_form(r"https?://[^\s/?#]+[^\s?#]*", "an address such as http://192.168.1.20/v1")


class DifyAgentSettings(HostedSettings):
    """Options of the section ``agent`` when its name is ``dify``. Times are in seconds."""

    base_url: Annotated[str, AfterValidator(_url)] = Field(
        default="https://api.dify.ai/v1", description="Of the API, ending in /v1"
    )
    inputs: Variables


class _Client(ServiceClient):
    pages = ""
    """Where the applications are, for people."""

    def refusal(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        if status in (401, 403):
            where = f"Dify shows an application's key under API Access: {self.pages}"
            text = f"{self.service} refuses agent.api_key ({status}); {where}"
            return ProviderUnavailable(NAME, text + self.service.proxy_hint, reason="no_key")
        known = of_body(self.service, status, body, headers)
        return _of_code(self.pages, _code(body), known)


class DifyModel(HostedModel):
    """One application of Dify, whatever it is made of: a chat, an agent or a chat flow."""

    def __init__(self, settings: DifyAgentSettings) -> None:
        self._settings = settings
        timeout = max(settings.first_token_timeout, settings.stall_timeout)
        client = _Client(
            NAME, "agent", self._server, timeout=timeout, connect_timeout=settings.connect_timeout
        )
        client.pages = _pages(settings.base_url)
        super().__init__(NAME, client)

    async def stream(self, call: ModelCall) -> ModelStream:
        conversation = self.conversations.of(call)
        await self.settled(conversation)
        answer = await self._asked(call, conversation)
        task, words, use = "", "", None
        try:
            async with closing(answer.events()) as events:
                async for event in events:
                    task = str(event.get("task_id") or task)
                    conversation = str(event.get("conversation_id") or conversation)
                    match event.get("event"):
                        case "message" | "agent_message":
                            more = str(event.get("answer") or "")
                        case "message_replace":
                            more = _rest(words, str(event.get("answer") or ""))
                        case "message_end":
                            use = _use(event)
                            break
                        case "error":
                            raise self._failure(event)
                        case _:
                            continue
                    words += more
                    if more:
                        yield Words(more)
        finally:
            answer.close()
            self.conversations.note(call, conversation)
            if task and use is None:
                self.stop(conversation, self._stop(task, call.user or NOBODY))
        if use is None:
            raise ProviderError(NAME, "the answer broke off", reason="service")
        yield Answer([{"role": "assistant", "content": words}] if words else [], use)

    async def verify(self) -> bool:
        """Ask for the application's parameters, which costs nothing."""
        answer = await self.client.run(self.client.get("parameters", {"user": NOBODY}))
        answer.close()
        return True

    async def _asked(self, call: ModelCall, conversation: str) -> Any:  # noqa: ANN401 - an answer
        body = {
            "query": said(call),
            "inputs": filled(self._settings.inputs, call),
            "response_mode": "streaming",
            "user": call.user or NOBODY,
            "conversation_id": conversation,
            "auto_generate_name": False,
        }
        try:
            return await self.client.post_json("chat-messages", body)
        except ProviderError as error:
            if not conversation or "Conversation Not Exists" not in str(error):
                raise
            self.conversations.forget(call)  # it was deleted there, or is another application's
            return await self.client.post_json("chat-messages", {**body, "conversation_id": ""})

    async def _stop(self, task: str, user: str) -> None:
        (await self.client.post_json(f"chat-messages/{task}/stop", {"user": user})).close()

    def _failure(self, event: Mapping[str, Any]) -> ProviderError:
        message = one_line(str(event.get("message") or "no reason given"))
        text = f"{self.client.service} reports: {message}"
        known = ProviderError(NAME, text, reason="service")
        return _of_code(_pages(self._settings.base_url), str(event.get("code") or ""), known)

    def _server(self) -> Server:
        settings = self._settings
        given = settings.api_key.get_secret_value() if settings.api_key is not None else ""
        key = given or os.environ.get("DIFY_API_KEY", "")
        pages = _pages(settings.base_url)
        missing = f"set agent.api_key or DIFY_API_KEY; see an application's API Access: {pages}"
        return server(NAME, settings.base_url, key, "api_key", missing)


def _pages(base_url: str) -> str:
    host = base_url.rstrip("/").removesuffix("/v1")
    return host.replace("//api.dify.ai", "//cloud.dify.ai") + "/apps"


def _of_code(pages: str, code: str, known: ProviderError) -> ProviderError:
    """Return the error of a code of Dify; ``known``: as it is without the code."""
    message, see = str(known).removeprefix(f"{NAME}: "), f"see {pages}"
    match code:
        case "app_unavailable":
            text = f"the application cannot be used: is it published in Dify? {see}"
            return ProviderUnavailable(NAME, text, reason="no_model")
        case "not_chat_app":
            text = f"agent.api_key is that of a workflow: Vixio needs one of a chat; {see}"
            return ProviderUnavailable(NAME, text, reason="no_model")
        case "provider_not_initialize":
            text = f"Dify has no key for the model: {see} (Settings, Model Provider)"
            return ProviderUnavailable(NAME, text, reason="no_key")
        case "provider_quota_exceeded":
            text = f"Dify's model has no quota left: {see} (Settings, Model Provider)"
            return ProviderUnavailable(NAME, text, reason="quota")
        case "model_currently_not_support":
            text = f"Dify cannot use the application's model: {see} (Settings, Model Provider)"
            return ProviderUnavailable(NAME, text, reason="no_model")
        case "invalid_param":
            text = f"{message}; does agent.inputs have what the application asks for?"
            return ProviderError(NAME, text, retryable=False, reason=REQUEST)
    return known


def _code(body: bytes) -> str:
    import json

    try:
        found = json.loads(body)
    except ValueError:
        return ""
    return str(found.get("code") or "") if isinstance(found, dict) else ""


def _rest(words: str, whole: str) -> str:
    """Return what is still to be said where ``whole`` takes the place of ``words``.

    What was heard cannot be taken back: a moderated answer is said behind it.
    """
    return whole.removeprefix(words) if whole.startswith(words) else f"\n{whole}"


def _use(event: Mapping[str, Any]) -> ModelUse:
    metadata = event.get("metadata")
    usage = metadata.get("usage") if isinstance(metadata, dict) else None
    return counted(usage, "prompt_tokens", "completion_tokens")


def _create(settings: DifyAgentSettings) -> HostedBackend:
    return HostedBackend(NAME, settings, lambda: DifyModel(settings))


FACTORY = ProviderFactory(
    settings_model=DifyAgentSettings,
    create=_create,
    servers="base_url",
    create_shared=replicated(NAME),
)
