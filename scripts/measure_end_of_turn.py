#!/usr/bin/env python3
"""How often a silence ends a turn too early, and how long a user waits for its end.

    python scripts/measure_end_of_turn.py                    # made speech, offline; a minute
    python scripts/measure_end_of_turn.py RECORDING [FOLDER ...]   # yours, a file an utterance
    python scripts/measure_end_of_turn.py --sweep            # which pause is cut at which setting
    python scripts/measure_end_of_turn.py --asr pocketsphinx --thresholds 500   # by words, too
    python scripts/measure_end_of_turn.py --others           # while others talk in the room
    python scripts/measure_end_of_turn.py --voice piper      # speech of a natural voice
    python scripts/measure_end_of_turn.py --smart-turn       # by the sound, too (extra smart-turn)

Speech goes through Opus as a device encodes it, the server's decoder, the real Silero VAD and the
real turn detector. Time is that of the audio: the figures do not depend on the machine, and are
equal for equal ``--seed``. WAV of 16 bit is read as it is; FLAC, Ogg and MP3 need the package
soundfile. A line for each ``listening.end_silence_ms``, and with --asr another for the silence
that depends on the words so far (``listening.end_of_turn: words``), known 0.05 s after a pause.
With --smart-turn there are others for ``listening.smart_turn``, which answers after 0.1 s:

- cut: utterances of which a turn ended while more was to come;
- behind: seconds of speech behind the first cut, of all;
- answered after … s: utterances that an answer begins within, if it is heard so long after the end
  of a turn. A user who goes on earlier is answered once, for the whole utterance;
- a minute: cuts in a minute of speech;
- wait: from the end of the voice to the end of the turn, p50 (p95), in ms.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np

from vixio.core.errors import VixioError
from vixio.core.tools.toolset import ToolSet
from vixio.providers import registry
from vixio.providers.asr import SpeechHints
from vixio.providers.smart_turn import SmartTurnModel
from vixio.providers.vad import VADProvider
from vixio.settings.provider import ASRSection, TTSSection
from vixio.stations.vad import VADSettings
from vixio.testing.voices import Voices
from vixio_bench.background import SOON_S, among, end_of_turn
from vixio_bench.end_of_turn import (
    ANSWER_S,
    Heard,
    Opinions,
    Outcome,
    Utterance,
    Words,
    decide,
    hear,
    later,
    summary,
)
from vixio_bench.paused_speech import (
    HESITATING,
    KNOWN,
    NaturalVoice,
    fluent,
    hesitating,
    recorded,
    with_pause,
)
from vixio_bench.speech_corpus import TOOLS

THRESHOLDS_MS = (200, 300, 400, 500, 600, 700, 800, 1000)
OTHERS_DB = (20.0, 15.0, 10.0, 5.0)
PAUSES_MS = (200, 300, 400, 500, 600, 700, 800, 1000, 1200)


async def heard_all(vad: VADProvider, utterances: Iterable[Utterance]) -> list[Heard]:
    """Pass all utterances through the VAD; leaves out those in which it hears nothing."""
    heard = [await hear(vad, each, seed) for seed, each in enumerate(utterances)]
    return [each for each in heard if each.hangover is not None]


async def table(
    title: str,
    heard: list[Heard],
    thresholds: list[int],
    words: Words | None = None,
    opinions: Opinions | None = None,
) -> None:
    """Print a set of utterances at each threshold."""
    if not heard:
        print(f"\n{title}: the VAD hears no voice")
        return
    seconds = sum(each.ends - each.begins for each in heard)
    hangovers = [each.hangover for each in heard if each.hangover is not None]
    low, middle, high = np.quantile(hangovers, (0.05, 0.5, 0.95)) * 1000
    print(f"\n{title}: {len(heard)} utterances, {seconds:.0f} s")
    print(
        f"silence is reported from {middle:.0f} ms after the voice on ({low:.0f} to {high:.0f})\n"
    )
    answers = " | ".join(f"answered after {after:g} s" for after in ANSWER_S)
    print(f"| end_silence_ms | cut | behind | {answers} | a minute | wait ms |")
    print("|---|---|---|" + "---|" * (len(ANSWER_S) + 2))
    ways: list[tuple[str, Words | None, Opinions | None]] = [("", None, None)]
    if words is not None:
        ways.append((", by the words", words, None))
    if opinions is not None:
        ways.append(
            (", by the words and the sound" if words else ", by the sound", words, opinions)
        )
    for threshold in thresholds:
        made: list[list[Outcome]] = []
        for way, by_words, by_sound in ways:
            outcomes = [await decide(each, threshold, by_words, by_sound) for each in heard]
            line = summary(threshold, outcomes)
            early = " | ".join(f"{share:.1%}" for share in line.early)
            print(
                f"| {threshold}{way} | {line.cut:.1%}"
                f" | {line.behind:.1%} | {early} | {line.a_minute:.1f}"
                f" | {line.wait_p50 * 1000:.0f} ({line.wait_p95 * 1000:.0f}) |"
            )
            made.append(outcomes)
        for (way, *_), outcomes in list(zip(ways, made, strict=True))[1:]:
            print(f"\nwait longer{way}: {later(made[0], outcomes):.1%}")


async def with_others(vad: VADProvider, limit: int | None, seed: int) -> None:
    """Print how soon a turn ends while others talk, with ``listening.background_db`` and without.

    Each sentence among one, three or six of them.
    """
    print("\n| others are quieter by | background_db | ended within 1.5 s | wait ms | cut |")
    print("|---|---|---|---|---|")
    said = list(fluent(limit or 24))
    for quieter in OTHERS_DB:
        voices, draw = Voices(repeatable=True), np.random.default_rng(seed)
        room = [
            among(voices, each, (1, 3, 6)[number % 3], quieter, draw)
            for number, each in enumerate(said)
        ]
        for margin in (0.0, VADSettings().background_db):
            settings = VADSettings(background_db=margin)
            ended = [
                await end_of_turn(vad, each, settings, number) for number, each in enumerate(room)
            ]
            waits = [each.wait for each in ended if each.wait is not None]
            soon = sum(wait <= SOON_S for wait in waits) / len(ended)
            middle = f"{np.median(waits) * 1000:.0f}" if waits else "–"
            cut = sum(each.cut for each in ended) / len(ended)
            print(f"| {quieter:g} dB | {margin:g} | {soon:.0%} | {middle} | {cut:.1%} |")


async def sweep(vad: VADProvider, thresholds: list[int], limit: int | None) -> None:
    """Print the share that is cut by one pause, for pauses of each length."""
    print("\n| pause ms | " + " | ".join(map(str, thresholds)) + " |")
    print("|---|" + "---|" * len(thresholds))
    for pause in PAUSES_MS:
        heard = await heard_all(vad, with_pause(pause / 1000, limit))
        shares = [
            summary(threshold, [await decide(each, threshold) for each in heard]).cut
            for threshold in thresholds
        ]
        print(f"| {pause} | " + " | ".join(f"{share:.0%}" for share in shares) + " |")


async def measure(options: argparse.Namespace) -> None:
    """Print the tables that are asked for."""
    thresholds, limit = options.thresholds, options.limit
    async with AsyncExitStack() as stack:
        factory = registry.resolve("vad", "silero")
        vad = factory.create(factory.settings_model())
        stack.push_async_callback(vad.close)
        await vad.start()
        words = None
        if options.asr:
            asr = ASRSection.model_validate({"name": options.asr}).create()
            stack.push_async_callback(asr.close)
            await asr.start()
            tools = ToolSet()
            tools.replace("device", TOOLS)
            words = Words(asr, SpeechHints(tools.definitions(), "en"))
        opinions = None
        if options.smart_turn:
            opinions = Opinions(SmartTurnModel().probability)
        if options.others:
            await with_others(vad, limit, options.seed)
        elif options.sweep:
            await sweep(vad, thresholds, limit)
        elif options.recordings:
            files = recorded(options.recordings)
            heard = await heard_all(vad, (f for f in files if f.seconds >= options.min_seconds))
            await table("recordings", heard, thresholds, words, opinions)
        else:
            voice, behind, seed = None, "", options.seed
            if options.voice:
                behind = ","
                voice = NaturalVoice(TTSSection.model_validate({"name": options.voice}).create())
                stack.callback(voice.close)
            sets = [
                ("commands without a pause", fluent(limit, voice)),
                ("commands with hesitations", hesitating(seed, limit, HESITATING, voice, behind)),
                ("known commands with hesitations", hesitating(seed, limit, KNOWN, voice, behind)),
            ]
            if voice is not None:
                fillers = hesitating(seed, limit, HESITATING, voice, ", um,")
                sets.append(("commands with an um before each pause", fillers))
            for title, spoken in sets:
                await table(title, await heard_all(vad, spoken), thresholds, words, opinions)
        if opinions is not None:
            each = opinions.seconds / max(1, opinions.pauses)
            print(f"\n{opinions.pauses} pauses judged, {each * 1000:.0f} ms of processor time each")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recordings", type=Path, nargs="*", help="files and folders")
    parser.add_argument("--thresholds", type=int, nargs="+", default=[*THRESHOLDS_MS])
    parser.add_argument("--min-seconds", type=float, default=0.0, help="shortest recording")
    parser.add_argument("--sweep", action="store_true", help="one pause of each length instead")
    parser.add_argument("--others", action="store_true", help="while others talk, instead")
    parser.add_argument("--seed", type=int, default=1, help="of the drawn pauses")
    parser.add_argument("--asr", metavar="NAME", help="by the words of this recogniser, too")
    parser.add_argument("--voice", metavar="NAME", help="speaks the made sentences")
    parser.add_argument("--smart-turn", action="store_true", help="by the sound of pauses, too")
    parser.add_argument("--limit", type=int, help="so many made sentences in each voice")
    options = parser.parse_args()
    logging.getLogger("vixio").setLevel(logging.CRITICAL)
    try:
        asyncio.run(measure(options))
    except (ValueError, OSError, VixioError) as error:
        sys.exit(f"measure_end_of_turn.py: {error}")


if __name__ == "__main__":
    main()
