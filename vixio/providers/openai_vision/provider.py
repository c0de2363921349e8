"""An image chat: the photo goes along with the question, in one request.

The image is sent as a data URL (Chat Completions, ``image_url``), which OpenAI, DashScope, Zhipu,
SiliconFlow, OpenRouter, Ollama and vLLM all take; nothing is uploaded to stay anywhere.
"""

from __future__ import annotations

import asyncio
import base64
import re
from typing import TYPE_CHECKING, Any, Literal

from loguru import logger
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.imports import SDK_IMPORT
from vixio.providers.registry import ProviderFactory
from vixio.providers.vision import Photo, VisionProvider

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion

NAME = "openai"

INSTRUCTIONS = (
    "You are the eyes of a voice assistant. Answer the question about the photo in one to three "
    "short sentences of plain text that can be read aloud. Say what is there; if the photo is too "
    "dark, blurred or does not show what is asked, say so."
)

MAX_ANSWER_CHARS = 4_000
"""The device holds the answer as one string and the model reads it as a tool's result."""

_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)


class OpenAIVisionSettings(BaseModel):
    """Options of the section ``vision`` when its name is ``openai``. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = "gpt-4o-mini"
    base_url: str | None = Field(default=None, description="Of a compatible server, ending in /v1")
    api_key: SecretStr | None = Field(default=None, description="Default: OPENAI_API_KEY")
    instructions: str = INSTRUCTIONS
    detail: Literal["auto", "low", "high"] | None = None
    """How closely to look, where the server has such a choice."""
    max_tokens: int = Field(default=300, ge=1)
    timeout: float = Field(default=20.0, gt=0, description="For the whole answer, retries included")
    connect_timeout: float = Field(default=5.0, gt=0)
    retries: int = Field(default=1, ge=0, le=5)
    """Further tries after what may pass by itself: a refused connection, 429, 5xx."""
    extra_body: dict[str, Any] | None = None


class OpenAIVisionProvider(VisionProvider):
    """One client, and so one pool of connections, for the process."""

    name = NAME

    def __init__(self, settings: OpenAIVisionSettings | None = None) -> None:
        self._settings = settings or OpenAIVisionSettings()
        self._client: openai.AsyncOpenAI | None = None
        self._starting = asyncio.Lock()
        self._asking: set[asyncio.Task[ChatCompletion]] = set()
        self._closed = False

    async def start(self) -> None:
        """Import the client, which takes a second. Raises ProviderUnavailable without a key."""
        async with self._starting:
            if self._closed:
                raise ProviderError(NAME, "it is closed", retryable=False)
            if self._client is None:
                self._client = await asyncio.to_thread(self._make)

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        """Ask the model. Raises ProviderError."""
        from vixio.providers.openai_errors import classify

        client = self._client
        if client is None or self._closed:
            state = "closed" if self._closed else "not started"
            raise ProviderError(NAME, f"it is {state}", retryable=False)
        settings = self._settings
        asking = asyncio.create_task(
            client.chat.completions.create(
                model=settings.model,
                messages=self._messages(photo, question, language),
                max_tokens=settings.max_tokens,
                extra_body=settings.extra_body,
            )
        )
        self._asking.add(asking)
        try:
            async with asyncio.timeout(settings.timeout):
                answer = await asking
        except TimeoutError:
            raise ProviderTimeout(NAME, "answer", settings.timeout) from None
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and not caller.cancelling():  # it was close() that cancelled
                raise ProviderError(NAME, "it was closed", retryable=False) from None
            raise
        except Exception as error:
            raise classify(NAME, error, settings.timeout) from error
        finally:
            self._asking.discard(asking)
        message = answer.choices[0].message if answer.choices else None
        text = _THOUGHTS.sub("", (message.content or message.refusal or "") if message else "")
        text = text.strip()[:MAX_ANSWER_CHARS]
        if not text:
            raise ProviderError(NAME, "the model's answer is empty", reason="service")
        return text

    async def close(self) -> None:
        """End the connections, with the questions on them. Idempotent."""
        self._closed = True
        # The client closes idle connections alone: those of open questions end with their tasks.
        for asking in list(self._asking):
            asking.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        async with self._starting:
            client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _make(self) -> openai.AsyncOpenAI:
        with SDK_IMPORT:
            import openai

        settings = self._settings
        key = settings.api_key.get_secret_value() if settings.api_key is not None else ""
        if not key and settings.base_url:
            key = "none"  # local servers ask for none, the client insists on one
        try:
            client = openai.AsyncOpenAI(
                api_key=key or None,
                base_url=settings.base_url,
                timeout=openai.Timeout(settings.timeout, connect=settings.connect_timeout),
                max_retries=settings.retries,
            )
        except openai.OpenAIError:
            raise ProviderUnavailable(
                NAME, "no key: set vision.api_key, or OPENAI_API_KEY", reason="no_key"
            ) from None
        logger.bind(provider=NAME, model=settings.model).debug("vision client made")
        return client

    def _messages(self, photo: Photo, question: str, language: str) -> Any:  # noqa: ANN401 - the client's own type, a union of forty
        url = f"data:{photo.media_type};base64,{base64.b64encode(photo.data).decode()}"
        image: dict[str, str] = {"url": url}
        if self._settings.detail is not None:
            image["detail"] = self._settings.detail
        rules = self._settings.instructions
        if language:
            rules = f"{rules} Answer in the language with the code {language}."
        return [
            {"role": "system", "content": rules},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": question},
                    {"type": "image_url", "image_url": image},
                ],
            },
        ]


def _create(settings: OpenAIVisionSettings) -> OpenAIVisionProvider:
    return OpenAIVisionProvider(settings)


FACTORY = ProviderFactory(settings_model=OpenAIVisionSettings, create=_create)
