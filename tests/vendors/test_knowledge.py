"""Retrieval by RAGFlow and Dify as a tool, against their stand-ins."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from pydantic import ValidationError

from tests.support.tool_sources import started
from vixio.core.errors import ConfigError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.execute import execute
from vixio.tools.registry import SourceContext, resolve
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.knowledge.service import KEY, Document, KnowledgeService

HOUSE = [
    Document("house", "heating.pdf", "The heating is serviced each\nOctober by Meier."),
    Document("house", "wifi.txt", "The password of the wifi is on the fridge."),
    Document("garden", "pond.md", "The pond has been heating the frogs since October."),
]
SERVICES = ["ragflow", "dify"]


@pytest_asyncio.fixture
async def service() -> AsyncIterator[KnowledgeService]:
    async with KnowledgeService() as made:
        made.documents = HOUSE
        yield made
        assert not made.account.violations


async def search(service: KnowledgeService, kind: str, question: str, **options: object) -> str:
    """Call the tool; return its result as the model reads it."""
    factory = resolve("knowledge")
    given = {
        "service": kind,
        "base_url": service.http,
        "api_key": KEY,
        "datasets": ["house", "garden"],
        **options,
    }
    source = factory.create(factory.settings_model.model_validate(given), SourceContext("papers"))
    async with started(source):
        (tool,) = source.tools()
        assert tool.source == "papers"
        result, _ = await execute(tool, {"question": question}, ToolContext())
        return result.for_model()


@pytest.mark.parametrize("kind", SERVICES)
async def test_the_best_passages_of_all_datasets(service: KnowledgeService, kind: str) -> None:
    found = await search(service, kind, "heating October Meier")
    assert found.split("\n\n") == [
        "[heating.pdf] The heating is serviced each October by Meier.",
        "[pond.md] The pond has been heating the frogs since October.",
    ]


@pytest.mark.parametrize("kind", SERVICES)
async def test_bounds(service: KnowledgeService, kind: str) -> None:
    assert "pond" not in await search(service, kind, "heating October Meier", results=1)
    assert "pond" not in await search(service, kind, "heating October Meier", least_score=0.9)
    service.documents = [Document("house", "long.txt", "word " * 1_000), *HOUSE]
    found = await search(service, kind, "word", max_chars=200)
    assert len(found) == 200
    assert await search(service, kind, "elephants") == "nothing found"


@pytest.mark.parametrize("kind", SERVICES)
async def test_what_is_wrong_is_told(service: KnowledgeService, kind: str) -> None:
    refused = await search(service, kind, "heating", api_key="knowledge-of-another")
    assert "refuses the access" in refused or "API key is invalid" in refused
    assert "of-another" not in refused
    unknown = await search(service, kind, "heating", datasets=["attic"])
    assert "dataset" in unknown.lower()
    requests = 1 if kind == "ragflow" else 2
    service.fail(*[Trouble.GARBAGE] * requests)
    assert "not as expected" in await search(service, kind, "heating")
    service.fail(*[Trouble.BUSY] * requests)
    assert "Meier" in await search(service, kind, "heating Meier")  # asked again


@pytest.mark.parametrize("kind", SERVICES)
async def test_a_service_that_stalls_is_given_up(service: KnowledgeService, kind: str) -> None:
    service.fail(*[Trouble.STALL] * 4)  # it is asked again
    assert "time" in await search(service, kind, "heating", timeout=0.2)


def test_a_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    factory = resolve("knowledge")
    given = {"service": "dify", "base_url": "http://127.0.0.1:1/v1", "datasets": ["a"]}
    settings = factory.settings_model.model_validate(given)
    monkeypatch.delenv("DIFY_KNOWLEDGE_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="DIFY_KNOWLEDGE_API_KEY"):
        factory.create(settings, SourceContext("papers"))
    monkeypatch.setenv("DIFY_KNOWLEDGE_API_KEY", "dataset-x")
    assert factory.create(settings, SourceContext("papers")).tools()
    with pytest.raises(ValidationError, match="an address such as"):
        factory.settings_model.model_validate({**given, "base_url": "192.168.1.20"})
