"""One use of a provider, as its caller sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.chunk import TextDelta
from vixio.core.streams import closing
from vixio.core.tools.context import ToolContext
from vixio.core.tools.execute import execute
from vixio.core.tools.source import ToolSource
from vixio.providers.agent import AgentBackend, AgentRequest
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.providers.tts import TTSProvider
from vixio.tools.registry import SourceContext
from vixio.tools.registry import resolve as resolve_source
from vixio_bench.load.control import BenchError
from vixio_bench.vendor_times.providers import Provider
from vixio_bench.vendor_times.stand_ins import ANSWER, SAID
from vixio_bench.vendors.base import HEARD_RATE, tone

SPEECH_S: Final = 1.63
"""Of an utterance: its last piece is not a whole one."""
STEP_S: Final = 0.2
"""Of it that is fed at a time: as much as any of the vendors wants in a frame."""
QUICKLY_S: Final = 0.04
"""Between two of them."""
SENTENCE: Final = "北京今天晴。"
QUESTION: Final = "when is the heating serviced"


@dataclass(frozen=True, slots=True)
class Seen:
    """When the caller of a provider did or saw something, by ``perf_counter``; 0: never.

    ``begun``: it asks, or gives the first audio; ``first``: it gets the first of the answer;
    ``ended``: it ends the utterance; ``last``: it has the last of the answer.
    """

    begun: float
    first: float
    ended: float
    last: float


Use = Callable[[], Awaitable[Seen]]


@asynccontextmanager
async def used(provider: Provider) -> AsyncIterator[Use]:
    """Yield what uses a provider once, which is started and closed around it."""
    if provider.kind == "knowledge":
        factory = resolve_source("knowledge")
        options = factory.settings_model.model_validate(provider.section)
        source = factory.create(options, SourceContext("papers"))
        await source.start()
        try:
            await source.ready()
            yield lambda: search(source)
        finally:
            await source.close()
        return
    made = provider.create()
    await made.start()
    try:
        match made:
            case ASRProvider():
                yield lambda: hear(made)
            case TTSProvider():
                yield lambda: speak(made)
            case AgentBackend():
                yield lambda: ask(made)
            case _:
                raise BenchError(f"{provider.title}: a provider of no kind that is known")
    finally:
        await made.close()


def utterance() -> list[bytes]:
    """Return what is said, in the pieces in which it is fed."""
    pcm = tone(SAID * 2, HEARD_RATE)[: pcm_bytes(SPEECH_S, LISTEN_RATE)]
    step = pcm_bytes(STEP_S, LISTEN_RATE)
    return [pcm[at : at + step] for at in range(0, len(pcm), step)]


async def hear(asr: ASRProvider) -> Seen:
    """Recognise an utterance."""
    stream, first, pieces = asr.open(SpeechHints()), 0.0, utterance()

    def heard(words: str) -> None:
        nonlocal first
        first = first or perf_counter()

    stream.on_partial = heard
    try:
        begun = perf_counter()
        for piece in pieces:
            await stream.feed(piece)
            await asyncio.sleep(QUICKLY_S)
        ended = perf_counter()
        words = (await stream.finish()).text
        last = perf_counter()
    finally:
        await stream.close()
    if words != SAID:
        raise BenchError(f"{asr.name}: it heard {words!r}")
    return Seen(begun, first, ended, last)


async def speak(tts: TTSProvider) -> Seen:
    """Speak a reply of one sentence."""
    turn, first = tts.turn(), 0.0
    try:
        begun = perf_counter()
        turn.expect(SENTENCE)
        turn.complete()
        async with closing(turn.synthesize(SENTENCE)) as speech:
            async for _ in speech:
                first = first or perf_counter()
        last = perf_counter()
    finally:
        if turn is not tts:
            await turn.leave()
    if not first:
        raise BenchError(f"{tts.name}: no sound")
    return Seen(begun, first, 0.0, last)


async def ask(backend: AgentBackend) -> Seen:
    """Ask a new conversation's agent."""
    agent, first, words = backend.create(), 0.0, ""
    await agent.initialize(system_prompt="Be brief.")
    try:
        begun = perf_counter()
        request = AgentRequest(1, SAID, device_id="02:00:00:00:00:01")
        async with closing(agent.reply(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    first = first or perf_counter()
                    words += event.text
        last = perf_counter()
    finally:
        await agent.close()
    if words != ANSWER:
        raise BenchError(f"{backend.name}: it said {words!r}")
    return Seen(begun, first, 0.0, last)


async def search(source: ToolSource) -> Seen:
    """Call the tool that looks something up."""
    (tool,) = source.tools()
    begun = perf_counter()
    result, _ = await execute(tool, {"question": QUESTION}, ToolContext())
    last = perf_counter()
    if "October" not in result.for_model():
        raise BenchError(f"{source.name}: {result.for_model()!r}")
    return Seen(begun, last, 0.0, last)
