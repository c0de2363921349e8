"""Hubs on the loopback interface, a store, and a model to fetch."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.hub import HubServer, hub_server, sha256
from vixio.providers.downloads.catalogue import Model
from vixio.providers.downloads.hubs import Hubs, Mirror
from vixio.providers.downloads.store import ModelStore
from vixio.providers.downloads.web import Patience, Web

REPO = "them/a-model"
BIG = random.Random(5).randbytes(300_000)
SMALL = b"a 0\nb 1\n"
FILES = {"model.int8.onnx": BIG, "tokens.txt": SMALL}


def entry(
    *sources: dict[str, Any], pinned: bool = True, files: dict[str, bytes] | None = None
) -> Model:
    """Return an entry of the catalogue; without sources: of Hugging Face."""
    described = []
    for name, data in (FILES if files is None else files).items():
        known = {"size": len(data), "sha256": sha256(data)} if pinned else {"about": len(data) + 9}
        described.append({"name": name, **known})
    return Model.model_validate(
        {
            "name": "a-model",
            "title": "A model",
            "kind": "asr",
            "runtime": "sherpa-onnx",
            "languages": ["zh", "en"],
            "licence": {"name": "MIT", "url": "https://example.org/licence"},
            "parts": [{"files": described, "sources": sources or [HUGGING_FACE]}],
        }
    )


HUGGING_FACE = {"hub": "huggingface", "repo": REPO}
MODELSCOPE = {"hub": "modelscope", "repo": REPO}


@pytest.fixture
async def hub() -> AsyncIterator[HubServer]:
    async with hub_server() as server:
        yield server


@pytest.fixture
async def cdn() -> AsyncIterator[HubServer]:
    """Another host (port), to which a hub redirects, or which is another mirror."""
    async with hub_server() as server:
        yield server


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with Web(Patience(connect=10, stall=1.0, tries=3, pause=0.01, longest_pause=2)) as client:
        yield client


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models")


@pytest.fixture
def hubs(hub: HubServer) -> Hubs:
    """All hubs, at one address."""
    mirrors = (
        Mirror("huggingface", hub.base, trusted=True),
        Mirror("modelscope", hub.base),
        Mirror("github", hub.base),
    )
    return Hubs(mirrors, github_api=hub.base)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"
