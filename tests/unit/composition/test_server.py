"""Settings that do not apply to a server in a program."""

from __future__ import annotations

import logging

import pytest

from vixio import Providers, Server, Settings
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD


@pytest.mark.parametrize(("workers", "lines"), [(1, []), (3, [3]), ("auto", ["auto"])])
def test_several_workers_in_a_program_are_a_warning(
    workers: int | str,
    lines: list[int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def at_once(app: Server, source: str) -> None:
        await app.stop()

    monkeypatch.setattr("vixio.server._serve", at_once)
    settings = Settings.model_validate(
        {"server": {"workers": workers}, "memory": {"store": "none"}}
    )
    made = Providers(ScriptedVAD(), ScriptedASR(), ScriptedAgentBackend(), ScriptedTTS())
    Server(settings, made).run()
    warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert [vars(each)["workers"] for each in warnings] == lines
