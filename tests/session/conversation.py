"""A whole session on the virtual clock: scripted providers, the real stations, a manual device."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ParamSpec

from vixio.core.chunk import ListenMode, ListenStart
from vixio.core.device import DeviceProfile
from vixio.core.history import History
from vixio.core.metrics import Counters, TurnTimeline
from vixio.core.pipeline import Pipeline
from vixio.core.session.engine_swap import MakeEngine
from vixio.core.session.events import Event, EventBus, TurnEnded
from vixio.core.session.log import SessionLog
from vixio.core.session.session import Session
from vixio.core.session.settings import SessionSettings, SharedParts
from vixio.core.timeouts import Timeouts
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.toolset import ToolSet
from vixio.core.turns.endpointing import EndpointingFactory
from vixio.core.turns.interruption import CutAtVoice, InterruptionFactory
from vixio.stations.agent import AgentStation
from vixio.stations.asr import ASRStation
from vixio.stations.sentence_aggregator import SentenceAggregatorStation
from vixio.stations.text_aggregator import TextAggregatorStation
from vixio.stations.tts import TTSStation
from vixio.stations.turn_detector import SecondOpinion, TurnDetectorStation, TurnSettings
from vixio.stations.vad import VADSettings, VADStation
from vixio.testing import (
    ManualConnection,
    ScriptedAgent,
    ScriptedASR,
    ScriptedTTS,
    ScriptedVAD,
    run_virtual,
    silence,
    speech,
)

P = ParamSpec("P")

TIMEOUTS = Timeouts(
    turn=30.0, asr=3.0, asr_feed=2.0, agent_first=4.0, agent_next=6.0, tts=2.0, apology=5.0
)


@dataclass
class Conversation:
    """A running session and everything a test wants to reach."""

    vad: ScriptedVAD = field(default_factory=ScriptedVAD)
    asr: ScriptedASR = field(default_factory=ScriptedASR)
    agent: ScriptedAgent = field(default_factory=ScriptedAgent)
    tts: ScriptedTTS = field(default_factory=ScriptedTTS)
    device: ManualConnection = field(default_factory=ManualConnection)
    history: History = field(default_factory=History)
    tools: ToolSet = field(default_factory=ToolSet)
    counters: Counters = field(default_factory=Counters)
    turn: TurnSettings = field(default_factory=TurnSettings)
    endpointing: EndpointingFactory | None = None
    opinion: SecondOpinion | None = None
    timeouts: Timeouts = TIMEOUTS
    """Of the stations."""
    settings: SessionSettings = field(default_factory=lambda: SessionSettings(timeouts=TIMEOUTS))
    runtime: ToolRuntime | None = None
    """Runs the session's tools; its sources are the session's."""
    session: Session | None = None
    events: EventBus = field(default_factory=EventBus)
    happened: list[Event] = field(default_factory=list)
    """Everything that was published."""
    profile: DeviceProfile | None = None
    make_engine: MakeEngine | None = None
    interruption: InterruptionFactory = CutAtVoice

    @property
    def ended(self) -> list[TurnTimeline]:
        """The records of the turns that have ended."""
        return [event.timeline for event in self.happened if isinstance(event, TurnEnded)]

    def pipeline(self, *, follow_tools: bool = False) -> Pipeline:
        """Return the stations around the scripted providers."""
        return Pipeline(
            stations=[
                VADStation(self.vad, VADSettings(timeout=1.0)),
                TurnDetectorStation(self.turn, self.endpointing, self.opinion),
                ASRStation(self.asr, self.timeouts, early=self.turn.think_ms > 0),
                TextAggregatorStation(),
                AgentStation(
                    self.agent,
                    self.timeouts,
                    follow_tools=follow_tools,
                ),
                SentenceAggregatorStation(),
                TTSStation(self.tts, self.timeouts),
            ]
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Conversation]:
        """Run the session; at the end the device vanishes and nothing may be left of it."""
        before = asyncio.all_tasks()
        opened = self.runtime.open("aa:bb", "virtual") if self.runtime is not None else None
        if opened is not None:
            self.tools = opened.toolset
        self.events.attach(self.happened.append)
        self.events.attach(SessionLog(self.counters))
        self.session = Session(
            self.device,
            self.pipeline(follow_tools=opened is not None),
            self.history,
            self.tools,
            self.counters,
            self.settings,
            opened,
            profile=self.profile,
            make_engine=self.make_engine,
            shared=SharedParts(self.events, None, self.interruption),
        )
        task = asyncio.create_task(self.session.run())
        try:
            yield self
        finally:
            self.device.vanish()
            async with asyncio.timeout(1.0):
                await task
            if opened is not None:
                await opened.close()
            left = asyncio.all_tasks() - before - {task}
            assert not left, f"tasks left behind: {left}"
            assert self.vad.open_streams == 0
            assert self.asr.open_streams == 0
            assert self.agent.running == 0
            assert self.tts.running == 0
            assert self.agent.closed

    def listen(self, mode: ListenMode = ListenMode.AUTO) -> None:
        """The device turns its microphone on."""
        self.device.put(ListenStart(mode))

    async def say(self, seconds: float = 1.0, *, pause: float = 0.8) -> None:
        """The user speaks, and is silent for ``pause`` seconds."""
        await self.device.play(silence(0.3) + speech(seconds) + silence(pause))


def on_virtual_time(
    test: Callable[P, Coroutine[Any, Any, None]],
) -> Callable[P, None]:
    """Run a test on a loop of its own whose clock is virtual."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        run_virtual(test(*args, **kwargs))

    return run
