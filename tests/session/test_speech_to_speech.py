"""A session with an engine that is no cascade: speech in, speech out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.session.conversation import on_virtual_time
from tests.session.speech_to_speech import (
    Call,
    Exchange,
    SpeechService,
    SpeechToSpeechEngine,
    Spoken,
)
from vixio.core.chunk import ListenMode, ListenStart, TextInput
from vixio.core.history import (
    AssistantMessage,
    History,
    HistoryItem,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.core.metrics import Counters
from vixio.core.session.engine import Engine
from vixio.core.session.events import Event, EventBus, FinalTranscript, TurnEnded
from vixio.core.session.session import Session
from vixio.core.session.settings import SessionSettings, SharedParts
from vixio.core.session.speech import SpeechStatus
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.testing import ManualConnection, silence, speech


async def look() -> str:
    """Look out of the window."""
    return "rain"


class Talk:
    """A device that talks to a speech-to-speech service."""

    def __init__(self, *script: Exchange) -> None:
        self.service = SpeechService(list(script))
        self.device = ManualConnection()
        self.history = History()
        self.happened: list[Event] = []
        events = EventBus()
        events.attach(self.happened.append)
        runtime = ToolRuntime([FixedSource("own", [func_to_tool_definition(look)])])
        self._tools = runtime.open(self.device.device.id, "s2s")
        engine: Engine = SpeechToSpeechEngine(self.service)
        self.session = Session(
            self.device,
            engine,
            self.history,
            self._tools.toolset,
            Counters(),
            SessionSettings(),
            self._tools,
            shared=SharedParts(events),
        )

    @property
    def items(self) -> list[HistoryItem]:
        return list(self.history.items())

    @property
    def outcomes(self) -> list[str]:
        return [each.timeline.outcome for each in self.happened if isinstance(each, TurnEnded)]

    @asynccontextmanager
    async def running(self, mode: ListenMode = ListenMode.AUTO) -> AsyncIterator[None]:
        before = asyncio.all_tasks()
        task = asyncio.create_task(self.session.run())
        self.device.put(ListenStart(mode))
        try:
            yield
        finally:
            self.device.vanish()
            await asyncio.wait_for(task, 1.0)
            await self._tools.close()
            assert asyncio.all_tasks() - before <= {task}
            assert self.service.closed
            assert self.service.answering == 0

    async def say(self, seconds: float = 1.0) -> None:
        await self.device.play(silence(0.3) + speech(seconds) + silence(0.8))


@on_virtual_time
async def test_it_holds_a_conversation() -> None:
    talk = Talk(
        Exchange("hello", [Spoken("Hello!", 0.6), Spoken("How are you?", 1.2)]),
        Exchange("fine", [Spoken("Good.", 0.5)]),
    )
    async with talk.running():
        await talk.say()
        await talk.device.wait_for("stop")
        talk.device.put(ListenStart(ListenMode.AUTO))
        await talk.say()
        await talk.device.wait_for("stop", 2)
    assert talk.device.texts() == ["Hello!", "How are you?", "Good."]
    assert talk.device.texts(["transcript"]) == ["hello", "fine"]
    assert len(talk.device.all("audio")) == 10 + 20 + 9
    assert talk.items == [
        UserMessage("hello"),
        AssistantMessage("Hello!How are you?"),
        UserMessage("fine"),
        AssistantMessage("Good."),
    ]
    assert talk.outcomes == ["answered", "answered"]
    finals = [each.text for each in talk.happened if isinstance(each, FinalTranscript)]
    assert finals == ["hello", "fine"]


@on_virtual_time
async def test_the_users_voice_cuts_the_answer_and_the_service_knows_how_much_was_played() -> None:
    talk = Talk(
        Exchange("tell me a story", [Spoken("Once upon a time.", 2.0), Spoken("The end.", 8.0)]),
        Exchange("stop", [Spoken("Okay.", 0.5)]),
    )
    async with talk.running(ListenMode.REALTIME):
        await talk.say()
        began = await talk.device.wait_for("audio")
        await talk.device.play(silence(0.6))
        await talk.say()
        stopped = await talk.device.wait_for("stop")
        await talk.device.wait_for("stop", 3)
    assert talk.outcomes == ["interrupted:voice", "answered"]
    (heard_ms,) = talk.service.heard_ms
    assert heard_ms is not None
    played_ms = 1000 * (stopped.at - began.at)
    assert 0 < heard_ms <= played_ms
    first, answer = talk.items[:2]
    assert first == UserMessage("tell me a story")
    assert isinstance(answer, AssistantMessage)
    assert "Once upon a time.".startswith(answer.text)
    assert talk.items[2:] == [UserMessage("stop"), AssistantMessage("Okay.")]


@on_virtual_time
async def test_commands_and_typed_words_reach_it_as_text() -> None:
    talk = Talk(
        Exchange("", [Spoken("It is noon.", 0.6)]), Exchange("", [Spoken("Yes, typed.", 0.6)])
    )
    async with talk.running():
        asked = talk.session.ask("what time is it")
        outcome = await asked.played()
        assert (outcome.status, outcome.heard) == (SpeechStatus.PLAYED, "It is noon.")
        said = talk.session.say("Dinner is ready.")
        assert (await said.played()).heard == "Dinner is ready."
        talk.device.put(TextInput("are you there"))
        await talk.device.wait_for("stop", 3)
    assert talk.service.texts == ["what time is it", "are you there"]
    assert talk.items == [
        UserMessage("what time is it"),
        AssistantMessage("It is noon."),
        AssistantMessage("Dinner is ready."),
        UserMessage("are you there"),
        AssistantMessage("Yes, typed."),
    ]


@on_virtual_time
async def test_its_tools_are_the_sessions() -> None:
    talk = Talk(Exchange("how is the weather", [Call("look", {}), Spoken("It rains.", 0.6)]))
    async with talk.running():
        await talk.say()
        await talk.device.wait_for("stop")
    assert talk.service.results == ["rain"]
    assert [type(item) for item in talk.items] == [
        *(UserMessage, ToolCallItem, ToolResultItem, AssistantMessage)
    ]
    timeline = next(each.timeline for each in talk.happened if isinstance(each, TurnEnded))
    assert [tool.name for tool in timeline.tools] == ["look"]
