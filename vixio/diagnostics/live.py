"""Uses every provider once, as a turn would, and reports result and latency.

The TTS speaks a sentence, VAD and ASR hear it, the agent is asked, the vision provider gets a
picture. A failing TTS does not stop VAD and ASR: they get speech of eSpeak NG instead.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from functools import partial

from vixio.core.chunk import TextDelta
from vixio.core.instructions import Instructions, Surroundings
from vixio.core.messages import reason
from vixio.core.metrics import ModelUse
from vixio.core.streams import bounded as bounded_stream
from vixio.core.streams import closing
from vixio.diagnostics.live_speech import SpeechProbe
from vixio.diagnostics.phrases import greeting
from vixio.diagnostics.pictures import RED, plain_png
from vixio.diagnostics.providers import bounded, started
from vixio.diagnostics.row import Row, numbered, quoted, tried
from vixio.providers.agent import AgentBackend, AgentRequest
from vixio.providers.vision import Photo
from vixio.settings import Settings
from vixio.settings.provider import VisionSection

LIMIT_S = 120.0
"""For one part, its start included; a model that is loaded for the first time takes a minute."""

QUESTION = "Which colour fills this picture? Answer with the name of the colour."

_RED = re.compile(r"\bred\b|红|紅|\brot\b|\brouge\b|\broj[oa]\b", re.IGNORECASE)


async def check_live(
    settings: Settings,
    report: Callable[[Row], None],
    progress: Callable[[str], None],
    limit: float = LIMIT_S,
) -> bool:
    """Use every part once, each reported as soon as it is known; return whether all work.

    ``progress`` is called with the current step; ``limit``: seconds for one part.
    """
    all_ok = True
    async with closing(_rows(settings, progress, limit)) as rows:
        async for row in rows:
            all_ok = all_ok and row.ok
            report(row)
    return all_ok


async def _rows(
    settings: Settings, progress: Callable[[str], None], limit: float
) -> AsyncIterator[Row]:
    async with closing(SpeechProbe(settings, limit).rows(progress)) as probe:
        async for row in probe:
            yield row
    progress("asking the model")
    answered = Row("agent")
    await tried(answered, partial(_ask, settings, limit), None, limit)
    yield answered
    if settings.vision is None:
        return
    progress("showing a picture")
    for part, section in numbered(settings.vision):
        seen = Row(part)
        look = partial(_look, section, settings.timeouts.vision, limit)
        await tried(seen, look, None, limit)
        yield seen


async def _ask(settings: Settings, limit: float, row: Row) -> None:
    backend = settings.agent.create()
    row.provider = backend.name
    async with started(backend, limit):
        used: list[ModelUse] = []
        words = await _answer(settings, backend, row, used)
        reasons = {each["model"]: str(each.get("reason", "")) for each in backend.stats()}
    model = used[-1] if used else None
    name = f"{model.model} " if model is not None and model.model != backend.name else ""
    if not words.strip():
        row.fail(f"{name}answered nothing: try another agent.model")
    elif model is not None and model.passed_over:
        missing = ", ".join(_with_reason(each, reasons) for each in model.passed_over)
        row.fail(f"{missing} did not answer, {name}did: {quoted(words)}")
    else:
        row.detail = f"{name}answered {quoted(words)}"


def _with_reason(model: str, reasons: dict[str, str]) -> str:
    why = reason(reasons.get(model, ""), "en").lower()
    return f"{model} ({why})" if why else model


async def _answer(settings: Settings, backend: AgentBackend, row: Row, used: list[ModelUse]) -> str:
    language = settings.assistant.language
    assistant = settings.assistant
    instructions = Instructions(
        assistant.instructions, Surroundings("", assistant.place, assistant.user_name)
    )
    limits = settings.time_limits()
    agent = backend.create()
    try:
        await agent.initialize(system_prompt=lambda _: instructions.for_turn(language))
        row.is_ready()
        request = AgentRequest(1, greeting(language), language=language, note_model=used.append)
        events = bounded_stream(
            agent.reply(request),
            provider=backend.name,
            what="answer",
            first=limits.agent_first,
            next=limits.agent_next,
        )
        words = ""
        async with closing(events) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    row.has_first()
                    words += event.text
        row.is_done()
        return words
    finally:
        await agent.close()


async def _look(section: VisionSection, patience: float, limit: float, row: Row) -> None:
    vision = section.create()
    row.provider = vision.name
    photo = Photo(plain_png(RED), "image/png")
    async with started(vision, limit):
        row.is_ready()
        looking = vision.explain(photo, QUESTION)
        answer = await bounded(looking, vision.name, "answer", patience)
        row.is_done()
    if _RED.search(answer):
        row.detail = f"saw a red picture: {quoted(answer)}"
    else:
        row.fail(f"of a red picture it says {quoted(answer)}: can the model of vision.model see?")
