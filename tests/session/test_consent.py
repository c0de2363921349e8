"""The user's yes to a tool: which words give it, and what is said in between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import ListenMode, TextInput
from vixio.core.device import DeviceProfile
from vixio.core.session.session import Session
from vixio.core.session.speech import SpeechStatus
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import ToolOptions
from vixio.core.turns.interruption import PauseAtVoice
from vixio.testing import ScriptedAgent, ScriptedASR, ToolUse
from vixio.tools import Deferred

OVEN = "Dinner is ready. Shall I turn off the oven?"


@dataclass
class House:
    """A conversation with a door that needs the user's yes, and a cook who calls back."""

    unlocked: int = 0
    dinner: asyncio.Event = field(default_factory=asyncio.Event)
    talk: Conversation = field(init=False)

    def __post_init__(self) -> None:
        door = func_to_tool_definition(self.unlock, options=ToolOptions(confirm=True))
        source = FixedSource("house", [door, func_to_tool_definition(self.cook)])
        self.talk = Conversation(
            asr=ScriptedASR(["yes"], delay=0.2),
            agent=ScriptedAgent(self.script),
            runtime=ToolRuntime([source]),
            profile=DeviceProfile(wake_greeting="Do you want music?"),
        )

    async def unlock(self) -> str:
        """Unlock the door."""
        self.unlocked += 1
        return "unlocked"

    async def cook(self) -> Deferred:
        """Cook dinner."""
        return Deferred(self._cook())

    async def _cook(self) -> str:
        await self.dinner.wait()
        return OVEN

    def script(self, text: str) -> tuple[str | ToolUse, ...]:
        """Call the door's tool at its question, and again at a yes, as a model would."""
        if text in {"unlock the door", "yes"}:
            return (ToolUse("unlock", {}), "Shall I unlock the door?")
        if text == "cook":
            return (ToolUse("cook", {}), "I am cooking.")
        return ("It is noon.",)

    @property
    def session(self) -> Session:
        assert self.talk.session is not None
        return self.talk.session

    async def asked(self) -> None:
        """Bring the conversation to the question."""
        await self.typed("cook")
        await self.typed("unlock the door")
        assert self.talk.device.texts()[-1] == "Shall I unlock the door?"

    async def typed(self, text: str, *, wake_word: bool = False) -> None:
        """Have the user type at the device, and wait for the end of the answer."""
        stops = len(self.talk.device.all("stop"))
        self.talk.device.put(TextInput(text, wake_word=wake_word))
        await self.talk.device.wait_for("stop", stops + 1)

    async def spoken_yes(self) -> None:
        """Have the user say yes, and wait for the end of the answer."""
        stops = len(self.talk.device.all("stop"))
        await self.talk.say(0.6)
        await self.talk.device.wait_for("stop", stops + 1)

    def count(self, name: str) -> int:
        """Return a counter of consent."""
        assert self.talk.runtime is not None
        return self.talk.runtime.counters.get(f"tool.confirm.{name}")


async def _said(house: House) -> None:
    assert (await house.session.say(OVEN).played()).status is SpeechStatus.PLAYED


async def _greeted(house: House) -> None:
    await house.typed("hello there", wake_word=True)


async def _late(house: House) -> None:
    stops = len(house.talk.device.all("stop"))
    house.dinner.set()
    await house.talk.device.wait_for("stop", stops + 1)


async def _commanded(house: House) -> None:
    assert (await house.session.ask("what time is it").played()).status is SpeechStatus.PLAYED


async def _interrupted(house: House) -> None:
    """The speech is cut by the user's yes."""
    handle = house.session.say(OVEN * 4)
    stops = len(house.talk.device.all("stop"))
    await house.talk.device.wait_for("start", stops + 1)
    assert not handle.done


BETWEEN: dict[str, Callable[[House], Awaitable[None]]] = {
    "a speech": _said,
    "a greeting": _greeted,
    "a late result": _late,
    "a commanded question": _commanded,
    "a speech that is cut": _interrupted,
}


@pytest.mark.parametrize("typed", [False, True])
@on_virtual_time
async def test_the_users_yes_to_the_question_runs_the_tool(typed: bool) -> None:
    house = House()
    async with house.talk.running():
        house.talk.listen()
        await house.asked()
        await (house.typed("yes") if typed else house.spoken_yes())
        assert house.unlocked == 1
        assert house.count("agreed") == 1


@pytest.mark.parametrize("between", BETWEEN)
@on_virtual_time
async def test_a_yes_after_other_words_of_the_assistant_does_not(between: str) -> None:
    """It may be meant for those."""
    house = House()
    async with house.talk.running():
        house.talk.listen(ListenMode.REALTIME)
        await house.asked()
        await BETWEEN[between](house)
        await house.spoken_yes()
        assert house.talk.agent.requests[-1].text == "yes"
        assert house.unlocked == 0
        assert house.count("agreed") == 0
        assert house.count("cancelled") == 1


@on_virtual_time
async def test_a_command_cannot_say_yes_for_the_user() -> None:
    house = House()
    async with house.talk.running():
        house.talk.listen()
        await house.asked()
        await house.session.ask("yes").played()
        assert house.unlocked == 0
        assert house.count("cancelled") == 1


@on_virtual_time
async def test_the_user_may_agree_to_what_a_command_asked_for() -> None:
    house = House()
    async with house.talk.running():
        house.talk.listen()
        await house.session.ask("unlock the door").played()
        await house.spoken_yes()
        assert house.unlocked == 1


@on_virtual_time
async def test_a_speech_that_waits_withdraws_nothing() -> None:
    """Nothing of it was heard: the user was quicker."""
    house = House()
    async with house.talk.running():
        house.talk.listen()
        await house.asked()
        saying = asyncio.create_task(house.spoken_yes())
        await asyncio.sleep(0.8)
        assert house.session.user_speaking
        handle = house.session.say(OVEN)
        await saying
        assert house.unlocked == 1
        await handle.played()


@on_virtual_time
async def test_over_the_question_itself_even_a_murmur_is_an_answer() -> None:
    house = House()
    talk = house.talk
    talk.asr.script[:] = ["mhm"]
    talk.interruption = PauseAtVoice
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        talk.device.put(TextInput("unlock the door"))
        await talk.device.wait_for("audio", 3)
        await talk.say()
        await talk.device.wait_for("stop", 2)
        assert [request.text for request in talk.agent.requests][-1] == "mhm"
