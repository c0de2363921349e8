"""Vision over Chat Completions: photo and question in one request.

The image is a data URL (``image_url``), which OpenAI, DashScope, Zhipu, SiliconFlow, OpenRouter,
Ollama and vLLM all accept. Nothing is stored on the server.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Literal

from pydantic import Field

from vixio.core.errors import ProviderError
from vixio.language.model_output.reader import text_of_output
from vixio.providers.openai_client import OpenAIConnection, SharedClient
from vixio.providers.registry import ProviderFactory
from vixio.providers.service_errors import Service, raise_error
from vixio.providers.vision import Photo, VisionProvider

NAME = "openai"

INSTRUCTIONS = (
    "You describe photos for a voice assistant. Answer the question about the photo in one to "
    "three short sentences of plain text that can be read aloud. Say what is there; if the photo "
    "is too dark, blurred or does not show what is asked, say so."
)

MAX_ANSWER_CHARS = 4_000
"""The device keeps the answer as one string, and the agent reads it as a tool's result."""


class OpenAIVisionSettings(OpenAIConnection):
    """Options of the section ``vision`` when its name is ``openai``. Times are in seconds."""

    model: str = "gpt-4o-mini"
    instructions: str = INSTRUCTIONS
    detail: Literal["auto", "low", "high"] | None = None
    """Resolution at which the model reads the image, for servers that offer a choice."""
    max_tokens: int = Field(default=300, ge=1)
    timeout: float = Field(default=20.0, gt=0, description="For the whole answer, retries included")


class OpenAIVisionProvider(VisionProvider):
    """One client, with one pool of connections, for the process."""

    name = NAME

    def __init__(self, settings: OpenAIVisionSettings | None = None) -> None:
        self._settings = settings or OpenAIVisionSettings()
        self._client = SharedClient(NAME, "vision", self._settings, timeout=self._settings.timeout)

    async def start(self) -> None:
        """Make the client. Raises ProviderUnavailable without a key."""
        await self._client.start()

    async def verify(self) -> bool:
        """Ask the server for its models. Raises ProviderError if it refuses the key."""
        return await self._client.verify()

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        """Ask the model. Raises ProviderError."""
        settings = self._settings

        body = {
            "model": settings.model,
            "messages": self._messages(photo, question, language),
            "max_tokens": settings.max_tokens,
            **(settings.extra_body or {}),
        }

        async def request() -> bytes:
            answer = await self._client.post_json("chat/completions", body)
            return await answer.read()

        answer = await self._client.bounded(
            self._client.retried(request), "answer", settings.timeout
        )
        text = text_of_output(_words_of(answer))[:MAX_ANSWER_CHARS]
        if not text:
            raise ProviderError(NAME, "the model's answer is empty", reason="service")
        return text

    async def close(self) -> None:
        """Close the connections; questions in progress fail. Idempotent."""
        await self._client.close()

    def _messages(self, photo: Photo, question: str, language: str) -> list[dict[str, Any]]:
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


def _words_of(body: bytes) -> str:
    """Return the text of the first choice, or its refusal; empty if there is none."""
    try:
        answer = json.loads(body)
        raise_error(answer, Service(NAME, "vision"))  # some servers answer so with status 200
        choices = answer["choices"]
        message = choices[0]["message"] if choices else {}
        return str(message.get("content") or message.get("refusal") or "")
    except (ValueError, LookupError, TypeError, AttributeError):
        text = "the server's answer is no chat completion"
        raise ProviderError(NAME, text, reason="service") from None


def _create(settings: OpenAIVisionSettings) -> OpenAIVisionProvider:
    return OpenAIVisionProvider(settings)


FACTORY = ProviderFactory(settings_model=OpenAIVisionSettings, create=_create, servers="base_url")
