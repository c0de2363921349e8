"""``vixio bench speech --own``: what users said, recognised again with and without corrections.

The recordings are those of turns on record, of devices whose profile keeps them
(``keep_sound_days``). The recogniser is that of the settings; it knows the tools of a usual device,
and what the device's profile has it listen for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from vixio.cli.diagnostics.providers import usual_hints
from vixio.composition.registry import opened_database
from vixio.core.audio import LISTEN_RATE, pcm_bytes, pcm_seconds
from vixio.core.device import Device, DeviceProfile
from vixio.core.replacements import NO_REPLACEMENTS
from vixio.core.wall_clock import now_ms
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository, Turns
from vixio.data.devices.profiles import SettingsProfiles
from vixio.data.devices.registry_cache import RegistrySnapshot, read_changes
from vixio.data.devices.repository import DeviceRepository
from vixio.language.phrasebook import CompiledPhrases, PhraseBook, signatures
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.settings import Settings
from vixio_bench.speech_sets import recognise, units

_FRAME = pcm_bytes(0.06, LISTEN_RATE)


@dataclass(frozen=True, slots=True)
class Recording:
    """What a user said to a device, and how that was served now."""

    turn: TurnRecord
    profile: DeviceProfile
    pcm: bytes


@dataclass(frozen=True, slots=True)
class Heard:
    """What a recording was understood as. Private: a user's words."""

    then: str
    now: str
    uncorrected: str


@dataclass(frozen=True, slots=True)
class Count:
    """How many recordings are understood as they were then, otherwise, and not at all, and how
    many are commands that the phrase book carries out."""

    same: int
    otherwise: int
    nothing: int
    commands: int


@dataclass(frozen=True, slots=True)
class OwnReport:
    """What was measured. ``words``: of each recording that is not understood as it was then, or
    that corrections change."""

    asr: str
    devices: int
    recordings: int
    seconds: float
    now: Count
    uncorrected: Count
    words: tuple[Heard, ...]


async def read_recordings(settings: Settings) -> list[Recording]:
    """Return the recordings of the registry, the oldest of each device first; nothing is written.

    Raises DatabaseFailed; ConfigError for a registry that ends with the server.
    """
    found: list[Recording] = []
    async with opened_database(settings) as database:
        known = RegistrySnapshot()
        if (news := await read_changes(database, -1, now_ms())) is not None:
            news.apply(known)
        profiles = SettingsProfiles(settings, known)
        conversations = ConversationRepository(database)
        for each in await DeviceRepository(database).devices():
            device = Device(each.id, client_id=each.client_id, board=each.board)
            for turn in await conversations.turns(Turns.of_device(each.id)):
                pcm = (
                    await conversations.sound(turn.session_id, turn.turn) if turn.sound_ms else None
                )
                if pcm is not None:
                    found.append(Recording(turn, profiles(device), pcm))
    return found


async def bench_own(settings: Settings, recordings: Sequence[Recording]) -> OwnReport:
    """Recognise recordings. Raises ProviderError if the recogniser cannot work."""
    asr = settings.asr.create()
    await asr.start()
    try:
        heard = [await _hear(asr, each) for each in recordings]
    finally:
        await asr.close()
    corrected = [(each.then, each.now) for each in heard]
    plain = [(each.then, each.uncorrected) for each in heard]
    languages = [each.profile.language for each in recordings]
    return OwnReport(
        asr=asr.name,
        devices=len({each.turn.device_id for each in recordings}),
        recordings=len(recordings),
        seconds=sum(pcm_seconds(each.pcm, LISTEN_RATE) for each in recordings),
        now=_count(corrected, languages),
        uncorrected=_count(plain, languages),
        words=tuple(each for each in heard if not _same(each.then, each.now, each.uncorrected)),
    )


async def _hear(asr: ASRProvider, recording: Recording) -> Heard:
    profile = recording.profile
    corrections = profile.corrections or NO_REPLACEMENTS
    frames = [recording.pcm[at : at + _FRAME] for at in range(0, len(recording.pcm), _FRAME)]

    async def words(served: DeviceProfile) -> str:
        hints = _hints(served)
        asr.prepare(hints)
        recognition, _ = await recognise(asr, hints, frames, live=False)
        return recognition.text.strip()

    uncorrected = await words(replace(profile, corrections=None))
    # Other phrases change what is recognised; single words do not.
    now = await words(profile) if profile.phrases != (profile.exit_phrases or ()) else uncorrected
    return Heard(recording.turn.heard, corrections(now), uncorrected)


def _hints(profile: DeviceProfile) -> SpeechHints:
    return replace(usual_hints(profile.language), phrases=profile.phrases)


def _count(heard: Sequence[tuple[str, str]], languages: Sequence[str]) -> Count:
    same = sum(_same(then, now) for then, now in heard)
    nothing = sum(not now and bool(then) for then, now in heard)
    commands = sum(
        _is_command(now, language) for (_, now), language in zip(heard, languages, strict=True)
    )
    return Count(same, len(heard) - same - nothing, nothing, commands)


def _same(*texts: str) -> bool:
    return len({tuple(units(text)) for text in texts}) == 1


def _is_command(text: str, language: str) -> bool:
    return _phrases("zh" if language.startswith("zh") else "en").match(text) is not None


@cache
def _phrases(language: str) -> CompiledPhrases:
    return PhraseBook.load(language).compile(signatures(usual_hints(language).tools))


def own_table(report: OwnReport, *, errors: bool = False) -> str:
    """Return the report as text for people."""
    if not report.recordings:
        return (
            "no recordings are there: set keep_sound_days for a device (docs/speech.md), and speak "
            "to it"
        )
    devices = f"{report.devices} device{'' if report.devices == 1 else 's'}"
    lines = [
        f"{report.recordings} recordings of {devices}, {report.seconds:.0f} s; {report.asr}",
        "",
        f"{'':24s}{'as then':>9}{'otherwise':>11}{'nothing':>9}{'commands':>10}",
    ]
    for name, count in (("now", report.now), ("without corrections", report.uncorrected)):
        lines.append(
            f"{name:24s}{count.same:9d}{count.otherwise:11d}{count.nothing:9d}{count.commands:10d}"
        )
    if errors and report.words:
        lines += ["", "then -> now (without corrections):"]
        lines += [
            f"  {each.then!r} -> {each.now!r} ({each.uncorrected!r})" for each in report.words
        ]
    return "\n".join(lines)
