"""The options of a FunASR server."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from vixio.providers.funasr_server.provider import FunASRServerASRProvider
from vixio.providers.funasr_server.settings import FunASRServerSettings
from vixio.providers.registry import resolve


def test_the_registry_knows_it() -> None:
    factory = resolve("asr", "funasr-server")
    made = factory.create(factory.settings_model())
    assert isinstance(made, FunASRServerASRProvider)
    assert made.name == "funasr-server"


@pytest.mark.parametrize(
    "options",
    [
        {"url": "http://host:10095"},
        {"url": "wss://"},
        {"url": "wss://host:99999"},
        {"mode": "twopass"},
        {"hotwords": {"a": 0}},
        {"chunk_size": [5, 0, 5]},
        {"chunk_size": [5, 10]},
        {"timeout": 0},
        {"ssl": True},
    ],
)
def test_mistakes_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(options))):
        FunASRServerSettings.model_validate(options)


def test_the_length_of_a_piece() -> None:
    assert FunASRServerSettings().piece_ms == 60
    assert FunASRServerSettings(chunk_size=[8, 8, 4], chunk_interval=5).piece_ms == 96
