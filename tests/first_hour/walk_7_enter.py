"""Nothing but Enter: free speech and a natural voice without an account, in five languages."""

from __future__ import annotations

import re

import pytest

from tests.e2e.person import Person
from tests.first_hour.house import PATIENCE, House
from vixio.settings import load_settings

SETS = {
    "en_US": ("combined", "piper"),
    "zh_CN": ("whisper", "kokoro|edge"),  # SenseVoice is proposed, but there is no hub here
    "de_DE": ("whisper", "edge"),
    "ja_JP": ("whisper", "edge"),
    "fr_FR": ("whisper", "kokoro|edge"),
}
"""The recogniser and the voice: on a slow machine another one is proposed for Kokoro."""

STOPS = ("What now?", "接下来做什么？")
WRITE = ("write the settings all the same", "仍然写入设置")


async def only_enter(person: Person) -> None:
    """Press Enter at every question that has a default, until the program ends.

    Where a part does not work, such as a voice of a service that cannot be reached here, the
    settings are written all the same.
    """
    while True:
        before = len(person.seen)
        try:
            await person.expect("]: ")
        except AssertionError:
            return  # it has ended
        asked = person.seen[before:]
        stopped = any(each in asked for each in STOPS)
        written = next((each for each in WRITE if each in asked), "")
        person.type(person.number(written) if stopped else "")


@pytest.mark.parametrize("locale", SETS)
async def test_enter_alone_makes_a_set_that_talks(house: House, locale: str) -> None:
    name = f"enter-{locale}.yaml"
    house.write(name, {})
    secrets = house.root / ".env"
    before = secrets.read_text("utf-8") if secrets.exists() else ""
    command = f".venv/bin/vixio setup --no-wait --config {name}"
    async with house.at_terminal(command, {"LANG": f"{locale}.UTF-8"}) as person:
        person.patience = PATIENCE
        await only_enter(person)
        await person.left()
    assert "Traceback" not in person.seen
    failed = [line for line in person.seen.splitlines() if "FAILED" in line]
    assert all("edge" in line for line in failed), person.seen
    assert re.search(r"(about|约) ?\d+\.\d ", person.seen), "what a turn takes is said before"
    settings = load_settings(house.root / name)
    ears, voices = SETS[locale]
    assert settings.assistant.language.partition("-")[0] == locale.partition("_")[0]
    assert settings.asr.name == ears
    assert re.fullmatch(voices, settings.tts.name)
    assert settings.agent.name == "phrasebook"
    assert before == (secrets.read_text("utf-8") if secrets.exists() else "")
