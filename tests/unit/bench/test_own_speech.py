"""What users said is recognised again, with and without the corrections of their devices."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository
from vixio.data.database.create import make_database
from vixio.data.devices.repository import DeviceRepository
from vixio.settings import Settings
from vixio.testing.voices import Speaker, Voices
from vixio_bench.own_speech import bench_own, own_table
from vixio_bench.speech import main

KITCHEN, BATH = "02:00:00:00:00:01", "02:00:00:00:00:02"
TAUGHT = "bed time for the bulb"


async def fill(folder: Path) -> None:
    """Keep what was said to two devices; the kitchen's profile has a correction for it."""
    database = make_database(folder, "")
    await database.open()
    devices = DeviceRepository(database)
    await devices.add(KITCHEN, "me")
    await devices.add(BATH, "me")
    # What the recogniser declined before it was taught, what it understood, and what it misheard.
    turns = [
        TurnRecord(KITCHEN, "s", 1, 1, heard=""),
        TurnRecord(KITCHEN, "s", 2, 2, heard="what time is it"),
        TurnRecord(BATH, "t", 1, 1, heard="set the volume to ten percent"),
        TurnRecord(BATH, "t", 2, 2, heard="what time is it"),
    ]
    said = [TAUGHT, "what time is it", "what time is it", "what time is it"]
    voices, speaker = Voices(repeatable=True), Speaker("en-us", rate=160, pitch=50)
    sounds = {
        turn.id: b"".join(voices.say(text, speaker, seed=1))
        for turn, text in zip(turns, said, strict=True)
    }
    del sounds["t/2"]
    await ConversationRepository(database).write(turns, sounds)
    await database.close()


@pytest.mark.slow
async def test_what_was_said_is_recognised_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await fill(tmp_path / "data")
    config = tmp_path / "vixio.yaml"
    taught = {"corrections": {TAUGHT: "what time is it"}}
    config.write_text(
        f"data: {{folder: {tmp_path / 'data'}}}\ndevices: {json.dumps({KITCHEN: taught})}\n"
    )

    def bench(*options: str) -> str:
        with ThreadPoolExecutor(1) as thread:  # the command has a loop of its own
            command = ["--own", "--config", str(config), *options]
            assert thread.submit(main, command).result() == 0
        return capsys.readouterr().out

    shown = json.loads(bench("--json", "--errors"))
    assert (shown["asr"], shown["devices"], shown["recordings"]) == ("pocketsphinx", 2, 3)
    assert shown["now"] == {"same": 1, "otherwise": 2, "nothing": 0, "commands": 3}
    assert shown["uncorrected"] == {"same": 2, "otherwise": 1, "nothing": 0, "commands": 2}
    assert [tuple(each.values()) for each in shown["words"]] == [
        ("", "what time is it", ""),
        ("set the volume to ten percent", "what time is it", "what time is it"),
    ]
    table = bench()
    assert "now                             1          2        0         3" in table
    assert "what time" not in table
    assert "'' -> 'what time is it' ('')" in bench("--errors")


async def test_without_recordings_it_says_what_to_do() -> None:
    assert "keep_sound_days" in own_table(await bench_own(Settings(), []))


def test_a_registry_that_ends_with_the_server_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "vixio.yaml"
    config.write_text("data: {database: none}\n")
    assert main(["--own", "--config", str(config)]) == 1
    assert "the registry ends with the server" in capsys.readouterr().err
