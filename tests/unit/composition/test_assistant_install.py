"""What the guide installs: a real program in the place of pip."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.waiting import until
from vixio.cli.setup.choices import Choice
from vixio.composition import assistant_install
from vixio.composition.assistant_file import AssistantFile
from vixio.composition.assistant_install import Installer
from vixio.core.local_cluster import LocalCluster
from vixio.web.api.assistant_settings import Mistaken, NotNow

WORKS = """
print('Collecting', end='', flush=True)
print(' it', flush=True)
print('\x1b[32mInstalled from https://u:secret@index/x\x1b[0m')
"""
FAILS = "import sys; print('no space left'); sys.exit(3)"
HANGS = "import os, time; print('waiting', os.getpid(), '!', flush=True); time.sleep(600)"
JOE = "tts.joe"


class House:
    """An installer whose program is given by the test."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = AssistantFile(folder / "assistant.yaml")
        self.program: list[str] | None = None
        self.asked: list[tuple[str, ...]] = []

        def install_command(*extras: str) -> list[str] | None:
            self.asked.append(extras)
            return self.program

        monkeypatch.setattr(assistant_install, "install_command", install_command)
        monkeypatch.setattr(Choice, "is_installed", lambda _: False)
        self.installer = self.another()

    def another(self) -> Installer:
        """Return that of another process."""
        cluster = LocalCluster()
        return Installer(cluster.presence, lambda: self.file.locked("install", 0))

    def runs(self, script: str) -> None:
        self.program = [sys.executable, "-c", script]

    async def ended(self) -> str:
        await until(lambda: self.installer._now().state != "running", what="its end")
        return (await self.installer.state()).state


@pytest.fixture
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    await found.installer.close()


async def test_a_choice_is_installed(house: House) -> None:
    house.runs(WORKS)
    begun = await house.installer.begin([JOE, JOE])
    assert (begun.state, begun.names) == ("running", [JOE])
    assert await house.ended() == "done"
    found = await house.installer.state()
    assert found.line == "Installed from https://***@index/x"
    assert house.asked[-1] == ("joe",)


async def test_what_went_wrong_is_told(house: House) -> None:
    house.runs(FAILS)
    await house.installer.begin([JOE])
    assert await house.ended() == "failed"
    found = await house.installer.state()
    assert found.error.startswith("no space left; by itself: ")
    assert "joe" in found.error
    house.runs(WORKS)
    await house.installer.begin([JOE])
    assert await house.ended() == "done"


async def test_one_at_a_time_of_all_processes_and_ended_with_the_server(house: House) -> None:
    house.runs(HANGS)
    await house.installer.begin([JOE])
    await until(lambda: house.installer._now().line.endswith("!"), what="its line")
    number = int(house.installer._now().line.split()[1])
    for each in (house.installer, house.another()):
        with pytest.raises(NotNow):
            await each.begin([JOE])
    async with asyncio.timeout(30):
        await house.installer.close()
    found = await house.installer.state()
    assert (found.state, found.error) == ("failed", "it was ended with the server")
    assert not Path(f"/proc/{number}").exists()  # noqa: ASYNC240 - no disk
    house.runs(WORKS)
    another = house.another()
    assert (await another.begin([JOE])).state == "running"
    await another.close()


async def test_only_what_is_offered_and_can_be_installed(house: House) -> None:
    house.runs(WORKS)
    with pytest.raises(Mistaken):
        await house.installer.begin(["tts.joe; rm -rf /"])
    house.program = None
    with pytest.raises(NotNow, match=r"joe cannot be installed from here: .*joe"):
        await house.installer.begin([JOE])
    assert (await house.installer.state()).state == "idle"
