"""SIGHUP reads the settings again, and ends a server whose terminal was closed."""

from __future__ import annotations

import asyncio
import logging
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support import warm
from vixio.composition.reload import Reloader, reloaded
from vixio.core.errors import ConfigError
from vixio.settings import Settings

CHILD = """
import asyncio, fcntl, signal, sys, termios
from vixio.composition.reload import on_hangup

async def main():
    happened = asyncio.get_running_loop().create_future()
    on_hangup(lambda: happened.set_result("reload"), lambda: happened.set_result("stop"))
    print("ready", flush=True)
    print(await happened, flush=True)

if sys.argv[1] == "terminal":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
if sys.argv[2] == "nohup":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("place", "start", "closed", "expected"),
    [
        ("terminal", "", True, "stop"),
        ("terminal", "", False, "reload"),
        ("terminal", "nohup", True, "reload"),
        ("elsewhere", "", False, "reload"),
    ],
)
def test_a_hangup(place: str, start: str, closed: bool, expected: str) -> None:
    master, slave = pty.openpty()
    with warm.start(
        [sys.executable, "-c", CHILD, place, start],
        cwd=warm.ROOT,
        env=warm.kept(),
        stdin=slave if place == "terminal" else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        os.close(slave)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if closed:
            os.close(master)  # the kernel sends SIGHUP
        else:
            process.send_signal(1)
        assert process.stdout.readline() == f"{expected}\n"
        assert process.wait(timeout=60) == 0
    if not closed:
        os.close(master)


class App:
    """Notes the settings that it is given."""

    def __init__(self) -> None:
        self.settings: list[Settings] = []

    def reload(self, settings: Settings) -> None:
        self.settings.append(settings)


async def test_a_mistake_is_one_line_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def load(layer: Path | None = None) -> Settings:
        raise ConfigError("vixio.yaml:3: server.prt: there is no such key")

    app = App()
    with caplog.at_level(logging.INFO):
        await Reloader(app, load).reload()
    assert app.settings == []
    (record,) = caplog.records
    assert vars(record)["reason"] == "vixio.yaml:3: server.prt: there is no such key"


async def test_a_reload_waits_for_the_one_before() -> None:
    app, slow = App(), threading.Event()
    older, newer = Settings(), Settings.model_validate({"assistant": {"place": "Berlin"}})
    files = iter([older, newer])

    def load(layer: Path | None = None) -> Settings:
        settings = next(files)
        if settings is older:
            assert slow.wait(20)
        return settings

    reloader = Reloader(app, load)
    first = asyncio.create_task(reloader.reload())
    second = asyncio.create_task(reloader.reload())
    done, _ = await asyncio.wait([first, second], timeout=0.05)
    assert not done
    slow.set()
    await asyncio.gather(first, second)
    assert app.settings == [older, newer]


def test_only_some_sections_change_without_a_restart(caplog: pytest.LogCaptureFixture) -> None:
    current = Settings()
    read = Settings.model_validate(
        {"assistant": {"place": "Berlin"}, "output": {"frame_ms": 20}, "server": {"port": 1}}
    )
    merged = reloaded(current, read)
    assert merged.assistant.place == "Berlin"
    assert (merged.output, merged.server) == (current.output, current.server)
    assert vars(caplog.records[0])["sections"] == "server, output"


def test_of_the_tools_only_those_that_come_along_change(caplog: pytest.LogCaptureFixture) -> None:
    current = Settings.model_validate({"tools": {"ready": ["dates"], "builtin": False}})
    read = Settings.model_validate({"tools": {"ready": ["news"], "media": {}}})
    merged = reloaded(current, read)
    assert (merged.tools.ready, merged.tools.media) == (read.tools.ready, read.tools.media)
    assert merged.tools.builtin is False
    assert vars(caplog.records[0])["sections"] == "tools"
    caplog.clear()
    same = Settings.model_validate({"tools": {"builtin": False}})
    assert reloaded(current, same).tools.ready is None
    assert not caplog.records
