"""Consent in a conversation with the phrase book, of the real agent and the runtime."""

from collections.abc import AsyncIterator

import pytest

from tests.support.tool_turns import FakeDevice, Talk, spoken
from vixio.core.chunk import Farewell
from vixio.core.history import AssistantMessage, ToolCallItem, ToolResultItem
from vixio.core.tools.policy import ToolPolicy
from vixio.core.tools.runtime import RuntimeSettings, ToolRuntime
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.language.phrasebook import PhraseBook, signatures
from vixio.providers.openai_agent.backend import PhraseBookAgentBackend
from vixio.providers.openai_agent.settings import PhraseBookAgentSettings
from vixio.tools.builtin import builtin_source

VOLUME = {
    "type": "object",
    "properties": {"volume": {"type": "integer", "minimum": 0, "maximum": 100}},
    "required": ["volume"],
}


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    backend = PhraseBookAgentBackend(PhraseBookAgentSettings())
    await backend.start()
    policy = ToolPolicy(options={"*set_volume": {"confirm": True}})
    runtime = ToolRuntime([builtin_source()], settings=RuntimeSettings(policy=policy))
    async with Talk(runtime, backend.create()) as made:
        yield made
    await backend.close()


@pytest.fixture
def device(talk: Talk) -> FakeDevice:
    made = FakeDevice()
    made.answers["self.get_device_status"] = '{"audio_speaker": {"volume": 40}}'
    tools = [
        made.tool("self.audio_speaker.set_volume", VOLUME),
        made.tool("self.get_device_status"),
    ]
    talk.tools.toolset.replace(DEVICE_SOURCE, tools)
    return made


SET_TO_30 = [("self.audio_speaker.set_volume", {"volume": 30})]


async def test_a_yes_carries_out_what_was_asked(talk: Talk, device: FakeDevice) -> None:
    asked = spoken(await talk.turn("set the volume to thirty percent"))
    assert "".join(asked).startswith("You said: set the volume to thirty percent.")
    assert device.asked == []
    done = spoken(await talk.turn("Yes, please."))
    assert device.asked == SET_TO_30
    assert done == ["The volume is now 30 percent."]
    await talk.turn("yes")
    assert device.asked == SET_TO_30, "a second yes does nothing"


async def test_a_no_leaves_it(talk: Talk, device: FakeDevice) -> None:
    await talk.turn("set the volume to thirty percent")
    assert spoken(await talk.turn("no")) == ["Okay, I will leave it."]
    assert spoken(await talk.turn("yes")) == ["There is nothing to answer yes or no to."]
    assert device.asked == []


async def test_other_words_are_answered_and_cancel_it(talk: Talk, device: FakeDevice) -> None:
    await talk.turn("set the volume to thirty percent")
    assert spoken(await talk.turn("thank you")) == ["You are welcome."]
    await talk.turn("yes")
    assert device.asked == []


async def test_a_late_result_in_between_is_no_answer_to_the_question(
    talk: Talk, device: FakeDevice
) -> None:
    await talk.turn("set the volume to thirty percent")
    late = talk.history.next_turn_id()
    talk.history.begin(late)
    for item in (
        ToolCallItem("late_1", "book", "{}"),
        ToolResultItem("late_1", "Booked."),
        AssistantMessage("Booked."),
    ):
        talk.history.append(late, item)
    talk.history.close(late)
    assert spoken(await talk.turn("yes")) == ["The volume is now 30 percent."]


async def test_the_second_call_of_a_sentence_may_be_the_one_to_confirm(
    talk: Talk, device: FakeDevice
) -> None:
    await talk.turn("make it louder")
    assert device.asked == [("self.get_device_status", {})]
    assert spoken(await talk.turn("okay")) == ["The volume is now 50 percent."]
    assert device.asked[1:] == [("self.audio_speaker.set_volume", {"volume": 50})]


async def test_in_chinese(talk: Talk, device: FakeDevice) -> None:
    asked = "".join(spoken(await talk.turn("把音量调到三十")))
    assert "真的要这样做吗" in asked
    await talk.turn("好的，确定。")
    assert device.asked == SET_TO_30


async def test_goodbye_ends_the_conversation(talk: Talk, device: FakeDevice) -> None:
    chunks = await talk.turn("goodbye")
    assert spoken(chunks) == ["Goodbye!"]
    assert any(isinstance(chunk, Farewell) for chunk in chunks)


@pytest.mark.parametrize(("language", "word"), [("en", "yes"), ("zh", "是的")])
def test_yes_is_expected_to_be_said_only_where_something_may_be_asked(
    language: str, word: str
) -> None:
    device = FakeDevice()
    book = PhraseBook.load(language)
    plain = book.compile(signatures([device.tool("self.lamp.turn_on")]))
    asking = book.compile(signatures([device.tool("self.lamp.turn_on", confirm=True)]))
    assert plain.match(word) is None
    match = asking.match(word)
    assert match is not None
    assert match.intent == "yes"
    assert plain.fingerprint != asking.fingerprint
