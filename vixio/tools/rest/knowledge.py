"""The source type ``knowledge``: what a service finds in the user's documents, as a tool.

RAGFlow: ``POST /api/v1/retrieval``; Dify: ``POST /v1/datasets/{id}/retrieve``, one dataset each.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, SecretStr

from vixio.core.errors import ConfigError, ToolError
from vixio.core.text_forms import of_form
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.source import ToolSource
from vixio.core.tools.types import ToolDefinition, ToolOptions
from vixio.tools.registry import SourceContext, ToolSourceFactory
from vixio.tools.rest.answer import read
from vixio.tools.rest.client import RestClient
from vixio.tools.rest.config import RestToolConfig
from vixio.tools.rest.request import build
from vixio.tools.source_settings import Name, Seconds, SourceSettings

_url = of_form(r"https?://[^\s/?#@]+[^\s?#]*", "an address such as http://192.168.1.20:9380")

_VARIABLES: Final = {"ragflow": "RAGFLOW_API_KEY", "dify": "DIFY_KNOWLEDGE_API_KEY"}

_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "description": "What to look up, in full words: nothing else is known of the talk.",
        }
    },
    "required": ["question"],
    "additionalProperties": False,
}


class KnowledgeSettings(SourceSettings):
    """Options of the type ``knowledge``."""

    service: Literal["ragflow", "dify"]
    base_url: Annotated[str, AfterValidator(_url)]
    """Without the path: RAGFlow's ``/api/v1`` and Dify's ``/v1`` are added."""
    api_key: SecretStr | None = Field(
        default=None, description="Default: RAGFLOW_API_KEY, or DIFY_KNOWLEDGE_API_KEY"
    )
    datasets: tuple[Name, ...] = Field(min_length=1, max_length=20)
    """Their ids."""
    tool: Name = "search_knowledge"
    """What the model calls."""
    description: Name = (
        "Search the user's own documents. Use it before you say that you do not know something "
        "about their home, work, family or things."
    )
    results: int = Field(default=5, ge=1, le=50)
    """Passages, of all datasets together."""
    least_score: float = Field(default=0.2, ge=0, le=1)
    max_chars: int = Field(default=4_000, ge=200, le=40_000)
    timeout: Seconds = 10.0


@dataclass(frozen=True, slots=True)
class _Passage:
    document: str
    text: str
    score: float


class KnowledgeSource(ToolSource):
    """One tool."""

    def __init__(self, settings: KnowledgeSettings, name: str) -> None:
        """Raises ConfigError without a key."""
        super().__init__(name)
        self._settings = settings
        given = settings.api_key.get_secret_value() if settings.api_key is not None else ""
        key = given or os.environ.get(variable := _VARIABLES[settings.service], "")
        if not key:
            raise ConfigError(f"api_key: set it here or in {variable}")
        if not (key.isascii() and key.isprintable()):
            raise ConfigError("api_key: it has line breaks or letters that no key has")
        self._requests = list(_requests(settings, {"Authorization": f"Bearer {key}"}))
        self._client = RestClient()
        self._tools = (
            ToolDefinition(
                settings.tool,
                settings.description,
                _PARAMETERS,
                name,
                options=ToolOptions(timeout=settings.timeout, idempotent=True, retries=1),
                caller=FunctionCaller(self._search),
            ),
        )

    async def start(self) -> None:
        """Load the HTTP library, off the event loop."""
        await asyncio.to_thread(import_module, "httpx2")

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the tool."""
        return self._tools

    async def look(self) -> str:
        """Ask a question, which shows that key and datasets are right. Raises ToolError."""
        began = perf_counter()
        try:
            await asyncio.gather(*(self._ask(config, "vixio") for config in self._requests))
        except ToolError as error:
            lost = error.type in ("disconnected", "timeout")
            why = "is base_url right, and does it run?" if lost else self._where()
            raise ToolError(error.type, f"{error}; {why}") from None
        return f"answers in {1000 * (perf_counter() - began):.0f} ms"

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    def _where(self) -> str:
        """Return where a person finds the key and the datasets."""
        base = self._settings.base_url.rstrip("/").removesuffix("/api/v1").removesuffix("/v1")
        if self._settings.service == "ragflow":
            return f"see api_key (in RAGFlow: avatar, API) and datasets; base_url is {base}"
        base = base.replace("//api.dify.ai", "//cloud.dify.ai")
        return f"see api_key (in Dify: Knowledge, API Access) and datasets: {base}/datasets"

    async def _search(self, question: str) -> str:
        asked = (self._ask(config, question) for config in self._requests)
        found = [passage for passages in await asyncio.gather(*asked) for passage in passages]
        good = [each for each in found if each.score >= self._settings.least_score and each.text]
        good.sort(key=lambda each: -each.score)
        texts, left = list[str](), self._settings.max_chars
        for passage in good[: self._settings.results]:
            head = f"[{passage.document}] " if passage.document else ""
            texts.append((head + " ".join(passage.text.split()))[:left])
            left -= len(texts[-1])
            if left <= 0:
                break
        return "\n\n".join(texts) or "nothing found"

    async def _ask(self, config: RestToolConfig, question: str) -> list[_Passage]:
        request = build(config, {_QUESTION[self._settings.service]: question})
        # The owner has chosen the host, which is mostly at home; the model cannot.
        answer = await self._client.send(request, timeout=self._settings.timeout, private=True)
        text = await read(answer, None)
        try:
            return _READERS[self._settings.service](json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ToolError("failed", "the service's answer is not as expected") from None


_QUESTION: Final = {"ragflow": "question", "dify": "query"}


def _requests(settings: KnowledgeSettings, headers: Mapping[str, str]) -> Sequence[RestToolConfig]:
    base = settings.base_url.rstrip("/")
    parameters = {"type": "object", "properties": {_QUESTION[settings.service]: {}}}
    if settings.service == "ragflow":
        base = base.removesuffix("/api/v1")
        bodies: list[tuple[str, dict[str, Any]]] = [
            (
                f"{base}/api/v1/retrieval",
                {
                    "dataset_ids": list(settings.datasets),
                    "page_size": settings.results,
                    "similarity_threshold": settings.least_score,
                },
            )
        ]
    else:
        base = base.removesuffix("/v1")
        model = {
            "search_method": "hybrid_search",
            "reranking_enable": False,
            "top_k": settings.results,
            "score_threshold_enabled": False,
        }
        bodies = [
            (f"{base}/v1/datasets/{dataset}/retrieve", {"retrieval_model": model})
            for dataset in settings.datasets
        ]
    return [
        RestToolConfig(
            settings.tool, "", "POST", url, parameters, headers=headers, constants=constants
        )
        for url, constants in bodies
    ]


def _ragflow(answer: Mapping[str, Any]) -> list[_Passage]:
    if answer.get("code"):  # with the status 200
        said = " ".join(str(answer.get("message") or "no reason given").split())[:200]
        raise ToolError("failed", f"the service reports: {said}")
    return [
        _Passage(
            str(each.get("document_keyword") or each.get("document_name") or ""),
            str(each["content"]),
            float(each.get("similarity") or 0.0),
        )
        for each in answer["data"]["chunks"]
    ]


def _dify(answer: Mapping[str, Any]) -> list[_Passage]:
    return [
        _Passage(
            str((each["segment"].get("document") or {}).get("name") or ""),
            str(each["segment"]["content"]),
            float(1.0 if each.get("score") is None else each["score"]),
        )
        for each in answer["records"]
    ]


_READERS: Final = {"ragflow": _ragflow, "dify": _dify}


def _create(settings: KnowledgeSettings, context: SourceContext) -> KnowledgeSource:
    return KnowledgeSource(settings, context.name)


FACTORY = ToolSourceFactory(settings_model=KnowledgeSettings, create=_create)
