"""`vixio check` and the languages: heard, spoken, with messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.speech_server import SpeechServer
from tests.unit.cli.diagnostics.parts import failed, run
from vixio.cli.commands import main
from vixio.cli.diagnostics import check
from vixio.cli.diagnostics.check import PROBES, Part
from vixio.core.extras import how_to_install


async def test_a_language_that_is_neither_heard_nor_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("hearing", "speaking", "messages", "access")
    monkeypatch.setattr(check, "PROBES", {name: PROBES[name] for name in names})
    parts = await run(tmp_path, "assistant: {language: zh-CN}\ntts: {name: piper}")
    assert list(failed(parts)) == ["hearing", "speaking"]
    assert parts["hearing"].detail.startswith("pocketsphinx hears en, not zh-CN: `")
    assert how_to_install("whisper", "kokoro") in parts["hearing"].detail
    assert "config/natural-zh.yaml`" in parts["hearing"].detail
    assert "`vixio models get sense-voice`" in parts["hearing"].detail
    assert parts["speaking"].detail.startswith("piper speaks en, not zh-CN: `")
    assert parts["messages"] == Part("messages", True, "zh-CN: there is a catalogue")
    assert failed(await run(tmp_path, "assistant: {language: en-GB}\ntts: {name: piper}")) == {}


async def test_a_language_of_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("hearing", "speaking", "messages", "access")
    monkeypatch.setattr(check, "PROBES", {name: PROBES[name] for name in names})
    devices = "devices: {'02:*': {language: de}, '04:*': {name: Kitchen}}"
    parts = await run(tmp_path, devices)
    spoken = [f"{place}{name}" for name in names[:3] for place in ("", "devices.02:*.")]
    assert list(parts) == ["settings", *spoken, "access"]
    assert list(failed(parts)) == ["devices.02:*.hearing"]


def test_a_language_without_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "PROBES", {"messages": PROBES["messages"]})
    path = tmp_path / "vixio.yaml"
    path.write_text("assistant: {language: nl}", encoding="utf-8")
    done = CliRunner().invoke(main, ["check", "--config", str(path)])
    assert done.output.splitlines()[1] == (
        "messages   warn    there is no catalogue of messages in nl, English ones are used: add "
        "nl.po to a folder that assistant.messages names (docs/speech.md)"
    )
    assert done.exit_code == 0, "it works"


async def test_asr_that_detects_the_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "PROBES", {name: PROBES[name] for name in ("asr", "hearing")})
    async with SpeechServer() as service:
        asr = f"asr: {{name: openai, language: auto, api_key: k, base_url: '{service.base_url}'}}"
        parts = await run(tmp_path, f"assistant: {{language: zh-CN}}\n{asr}")
        assert service.looked
        assert not service.requests, "nothing that costs money is asked"
    assert failed(parts) == {}
    assert parts["hearing"].detail == "zh-CN, as far as openai knows it"
