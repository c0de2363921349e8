"""Piper's settings and errors, without its package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from vixio.core.errors import ProviderUnavailable
from vixio.providers import registry
from vixio.providers.piper.provider import PiperSettings, PiperTTSProvider


async def refused(match: str, model: Path) -> None:
    tts = PiperTTSProvider(PiperSettings(model=model))
    with pytest.raises(ProviderUnavailable, match=match):
        await tts.start()
    await tts.close()


async def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "piper", None)
    model = tmp_path / "en_US-amy-low.onnx"
    await refused(r"no file .*amy-low\.onnx: python -m piper\.download_voices", model)
    model.write_bytes(b"")
    await refused(r"no file .*amy-low\.onnx\.json", model)
    model.with_suffix(".onnx.json").write_text("{}", encoding="utf-8")
    await refused(r"pip install 'vixio\[piper\]'", model)


def test_settings_and_registry(tmp_path: Path) -> None:
    factory = registry.resolve("tts", "piper")
    assert isinstance(factory.create(PiperSettings(model=tmp_path)), PiperTTSProvider)
    for options in ({}, {"model": "a", "length_scale": 0}, {"model": "a", "voice": "b"}):
        with pytest.raises(ValidationError):
            PiperSettings.model_validate(options)
