"""What people try first, typed in each language, by the real agent with real tools."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.support.tool_turns import FakeDevice, Talk, spoken
from tests.unit.language.phrasebook.tools import integer
from vixio.cli.diagnostics.phrases import greeting, sentence
from vixio.core.chunk import Chunk, ToolCalled
from vixio.core.messages import message
from vixio.core.messages.catalogues import PACKAGED
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.core.tools.types import JsonObject
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.database.sqlite import SQLiteDatabase
from vixio.data.reminders.names import Listener, Listeners
from vixio.data.reminders.repository import Limits
from vixio.data.reminders.service import ReminderService
from vixio.data.reminders.tools import reminder_source
from vixio.language.phrasebook import LANGUAGES
from vixio.language.phrasebook.stored import DATA
from vixio.providers.openai_agent.backend import PhraseBookAgentBackend
from vixio.providers.openai_agent.settings import PhraseBookAgentSettings
from vixio.tools.builtin import builtin_source

COMMANDS = Path(__file__).parents[2] / "language" / "phrasebook" / "commands"
"""By language: what is typed, the calls that follow, the reply (``*``: the time of now)."""

NOW = round(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp() * 1000)
ME = Listener("aa:bb:cc", "Kitchen", connected=True)
STATUS = {
    "audio_speaker": {"volume": 40},
    "screen": {"brightness": 60, "theme": "dark"},
    "battery": {"level": 80},
    "network": {"type": "wifi", "signal": "strong"},
}
ANSWERS = {
    "self.get_device_status": json.dumps(STATUS),
    "self.lamp.get_state": '{"power": true}',
    "self.camera.take_photo": '{"success": true, "text": "X."}',
}
DEVICE: dict[str, JsonObject] = {
    "self.get_device_status": {},
    "self.audio_speaker.set_volume": {"volume": integer(0, 100)},
    "self.screen.set_brightness": {"brightness": integer(0, 100)},
    "self.screen.set_theme": {"theme": {"type": "string"}},
    "self.camera.take_photo": {"question": {"type": "string"}},
    "self.lamp.get_state": {},
    "self.lamp.turn_on": {},
    "self.lamp.turn_off": {},
    "self.light.set_rgb": {"r": integer(0, 255), "g": integer(0, 255), "b": integer(0, 255)},
    "self.fan.set_power": {"on": {"type": "boolean"}},
    "self.chassis.go_forward": {},
    "self.chassis.dance": {},
}
WORD = re.compile(r"[^\W\d_]{2,}")


@asynccontextmanager
async def talking(language: str) -> AsyncIterator[Talk]:
    """Give a session whose voice speaks ``language``, with all tools and a device's."""
    link: Link[Database] = Link(lambda: SQLiteDatabase(None), name="test-reminders")
    service = ReminderService(link, Limits(), "Europe/Berlin", lambda: NOW)
    listeners = Listeners(lambda: (ME,), {ME.device_id: ME}.get)
    backend = PhraseBookAgentBackend(PhraseBookAgentSettings())
    await backend.start()
    runtime = ToolRuntime([builtin_source(), reminder_source(service, listeners)])
    device = FakeDevice()
    device.answers |= ANSWERS
    tools = [
        device.tool(name, {"type": "object", "properties": properties})
        for name, properties in DEVICE.items()
    ]
    async with Talk(runtime, backend.create(), language=language) as talk:
        talk.tools.toolset.replace(DEVICE_SOURCE, tools)
        yield talk
    await backend.close()
    await link.close()


def calls(chunks: list[Chunk]) -> str:
    """Return the calls as the tables have them."""
    made = [each for each in chunks if isinstance(each, ToolCalled)]
    return "; ".join(f"{each.name} {each.arguments}" for each in made)


def said(chunks: list[Chunk]) -> str:
    return " ".join(spoken(chunks))


def rows(language: str) -> list[list[str]]:
    text = (COMMANDS / f"{language}.tsv").read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def english_words(language: str) -> set[str]:
    """Return words of English that the language does not have, going by catalogues and books."""

    def words(code: str, of_book: str) -> Iterator[str]:
        catalogue = (PACKAGED / f"{code}.po").read_text("utf-8")
        book = (DATA / f"{code}.yaml").read_text("utf-8")
        for text in (*re.findall('msgstr.*"(.*)"', catalogue), *re.findall(of_book, book)):
            yield from (word.lower() for word in WORD.findall(re.sub(r"\{.*?\}", "", text)))

    return set(words("en", 'reply: "(.*)"')) - set(words(language, '"([^"]*)"'))


@pytest.mark.parametrize("language", ["de", "es", "fr", "ja", "zh"])
async def test_the_commands_that_people_try_first(language: str) -> None:
    table, english = rows(language), english_words(language)
    assert len(table) >= 60
    assert len(english) > 100
    async with talking(language) as talk:
        for typed, called, reply in table:
            chunks = await talk.turn(typed)
            assert (typed, calls(chunks)) == (typed, called)
            assert fnmatchcase(said(chunks), reply), (typed, said(chunks), reply)
            foreign = {word.lower() for word in WORD.findall(said(chunks))} & english
            assert not foreign, (typed, said(chunks))


@pytest.mark.parametrize("language", ["de", "es", "fr", "ja", "zh"])
async def test_english_is_carried_out_and_answered_in_the_voices_language(language: str) -> None:
    english = english_words(language)
    async with talking(language) as talk:
        for typed, called in (
            ("Set the volume to thirty percent", 'self_audio_speaker_set_volume {"volume": 30}'),
            ("what time is it", "get_time {}"),
            ("what day is it", "get_date {}"),
            ("turn on the lamp", "self_lamp_turn_on {}"),
            ("turn off the fan", 'self_fan_set_power {"on": false}'),
            ("make the light blue", 'self_light_set_rgb {"r": 0, "g": 0, "b": 255}'),
            ("set a timer for ten minutes", 'set_timer {"minutes": 10}'),
            ("switch to the dark theme", 'self_screen_set_theme {"theme": "dark"}'),
            ("how are you", ""),
            ("what can you do", ""),
            ("Remember that I like tea", ""),
            ("remember that the key is under the mat", ""),
            ("tell me a story", ""),
        ):
            chunks = await talk.turn(typed)
            assert (typed, calls(chunks)) == (typed, called)
            reply = said(chunks)
            assert reply
            assert not {word.lower() for word in WORD.findall(reply)} & english, (typed, reply)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_check_says_is_answered(language: str) -> None:
    async with talking(language) as talk:
        hello = await talk.turn(greeting(language))
        assert said(hello) not in {
            message(key, language) for key in ("not_understood", "not_understood_first")
        }
        assert calls(await talk.turn(sentence(language))) == "self_lamp_turn_on {}"


@pytest.mark.parametrize("language", ["it", "ko", "pt", "ru"])
async def test_a_language_without_a_book_apologises_in_its_own_words(language: str) -> None:
    async with talking(language) as talk:
        told = [said(await talk.turn(typed)) for typed in ("hello", "what time is it", "ciao")]
    later = message("not_understood", language)
    assert told == [message("no_phrase_book", language), later, later]


@pytest.mark.parametrize("language", ["de", "en", "fr"])
async def test_the_first_apology_says_what_can_be_said(language: str) -> None:
    first, later = (message(key, language) for key in ("not_understood_first", "not_understood"))
    async with talking(language) as talk:
        assert said(await talk.turn("xyzzy", heard=False)) == first
        assert said(await talk.turn("xyzzy")) == first, "which was not heard before"
        assert said(await talk.turn("plugh")) == later
        await talk.turn("what time is it")
        assert said(await talk.turn("xyzzy")) == later
