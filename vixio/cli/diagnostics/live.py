"""Uses every part once, as a turn would, and reports result and latency.

The TTS speaks a sentence, VAD and ASR hear it, the agent is asked, the vision provider gets a
picture, the sources of tools say who they are. A failing TTS does not stop VAD and ASR: they get
speech of eSpeak NG instead. Last comes what a turn takes with all of them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from pathlib import Path

from vixio.cli.diagnostics.live_speech import SpeechProbe
from vixio.cli.diagnostics.live_tools import tool_rows
from vixio.cli.diagnostics.phrases import greeting
from vixio.cli.diagnostics.pictures import RED, plain_png
from vixio.cli.diagnostics.providers import bounded
from vixio.cli.diagnostics.row import Row, quoted, tried
from vixio.cli.diagnostics.trials import Trial, Trials, trials_of
from vixio.cli.setup import pace
from vixio.core.chunk import TextDelta
from vixio.core.instructions import Instructions, Surroundings
from vixio.core.messages import reason
from vixio.core.metrics import ModelUse
from vixio.core.streams import bounded as bounded_stream
from vixio.core.streams import closing
from vixio.language.phrasebook import LANGUAGES
from vixio.providers.agent import AgentBackend, AgentRequest
from vixio.providers.vision import Photo, VisionProvider
from vixio.settings import Settings

LIMIT_S = 120.0
"""For one part, its start included; a model that is loaded for the first time takes a minute."""

QUESTION = "Which colour fills this picture? Answer with the name of the colour."

_WORDS = {"asr": "for the words", "agent": "for the answer", "tts": "for the voice"}

_RED = re.compile(r"\bred\b|红|紅|\brot\b|\brouge\b|\broj[oa]\b", re.IGNORECASE)


async def check_live(
    settings: Settings,
    report: Callable[[Row], None],
    progress: Callable[[str], None],
    limit: float = LIMIT_S,
    *,
    path: Path | None = None,
) -> bool:
    """Use every part once, each reported as soon as it is known; return whether all work.

    ``progress`` is called with the current step; ``limit``: seconds for one part. ``path``: of the
    settings, for advice; None: there is no file.
    """
    found: list[Row] = []
    trials = trials_of(settings, limit)
    async with closing(rows_of(settings, trials, progress, limit)) as rows:
        async for row in rows:
            found.append(row)
            report(row)
    progress("asking for the tools")
    async with closing(tool_rows(settings, limit)) as rows:
        async for row in rows:
            found.append(row)
            report(row)
    if turn := await asyncio.to_thread(turn_row, settings, found, path):
        report(turn)
    return all(row.ok for row in found)


def waits(rows: Iterable[Row]) -> dict[str, float]:
    """Return what the parts that work add to a turn, by their kinds: of a list, the first one.

    Seconds: from the end of a sentence to its words (``asr``), from there to the first words of
    the answer (``agent``), from there to the first sound of it (``tts``).
    """
    found: dict[str, float] = {}
    for row in rows:
        seconds = row.total if row.kind == "asr" else row.first
        if row.ok and row.kind in _WORDS and seconds is not None:
            found.setdefault(row.kind, seconds)
    return found


def turn_row(settings: Settings, rows: Iterable[Row], path: Path | None) -> Row | None:
    """Return the row of a whole turn; None if one of its parts was not measured."""
    found = waits(rows)
    if set(found) != set(_WORDS):
        return None
    pause = settings.listening.end_silence_ms / 1000
    row = Row("turn", total=pause + sum(found.values()))
    each = ", ".join(f"{found[kind]:.1f} s {words}" for kind, words in _WORDS.items())
    row.detail = f"from the last word to the first sound: {pause:.1f} s to be sure of it, {each}"
    if row.total is not None and row.total > pace.LIMIT_S:
        row.warn = True
        row.detail += f"; slow, {pace.advice(settings, found, path)}"
    return row


async def rows_of(
    settings: Settings, trials: Trials, progress: Callable[[str], None], limit: float
) -> AsyncIterator[Row]:
    """Use each provider of ``trials`` once; yield its row as soon as it is known.

    A kind without a trial has no row; VAD and ASR hear eSpeak NG where there is no TTS.
    """
    if trials.tts or trials.vad or trials.asr:
        async with closing(SpeechProbe(settings, trials, limit).rows(progress)) as probe:
            async for row in probe:
                yield row
    for asked in trials.agent:
        progress("asking the model")
        answered = Row(asked.part)
        await tried(answered, partial(_ask, settings, asked), None, limit)
        yield answered
    for shown in trials.vision:
        progress("showing a picture")
        seen = Row(shown.part)
        await tried(seen, partial(_look, shown, settings.timeouts.vision), None, limit)
        yield seen


async def _ask(settings: Settings, trial: Trial[AgentBackend], row: Row) -> None:
    async with trial.use(row) as backend:
        used: list[ModelUse] = []
        words = await _answer(settings, backend, row, used)
        reasons = {each["model"]: str(each.get("reason", "")) for each in backend.stats()}
    model = used[-1] if used else None
    name = f"{model.model} " if model is not None and model.model != backend.name else ""
    if not words.strip():
        row.fail(f"{name}answered nothing: try another agent.model")
    elif model is not None and model.apology:
        language = settings.assistant.language
        row.fail(
            f"{name}answered {quoted(greeting(language))} with an apology: {quoted(words)}; the "
            f"phrase book knows {', '.join(LANGUAGES)}, a language model {language} as well"
        )
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


async def _look(trial: Trial[VisionProvider], patience: float, row: Row) -> None:
    photo = Photo(plain_png(RED), "image/png")
    async with trial.use(row) as vision:
        row.is_ready()
        looking = vision.explain(photo, QUESTION)
        answer = await bounded(looking, vision.name, "answer", patience)
        row.is_done()
    if _RED.search(answer):
        row.detail = f"saw a red picture: {quoted(answer)}"
    else:
        row.fail(f"of a red picture it says {quoted(answer)}: can the model of vision.model see?")
