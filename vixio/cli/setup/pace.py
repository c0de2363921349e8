"""How long a turn keeps somebody waiting on this machine, before anything is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from vixio.cli.banner import vixio_command
from vixio.cli.setup.choices import COMMANDS, EARS, VOICES, Choice
from vixio.composition.core_speed import core_speed
from vixio.core.cores import processor_time
from vixio.core.errors import ConfigError
from vixio.settings import Settings
from vixio.settings.sections import ListeningSettings

LIMIT_S: Final = 2.0
"""From the last word to the first sound of the answer. Behind a longer silence people ask again."""

PAUSE_S: Final[float] = ListeningSettings.model_fields["end_silence_ms"].default / 1000
"""What is waited for behind the last word, until the turn is over."""

MODEL: Final = "model"

_ROUNDS: Final = 40

_NOTICED_S: Final = 0.3
"""A gain below this is not worth another part."""

_ONE_CORE: Final = 1.6
"""How many times as long a model takes that has one core in the place of two (docs/speech.md)."""


@dataclass(frozen=True, slots=True)
class Pace:
    """``slowness``: how many times as long a core takes as the reference machine's, which
    :func:`~vixio.composition.core_speed.core_speed` measures. ``cores``: that there are.
    ``measured``: seconds that a part or ``model`` took when it was tried, by its key.

    What is not known, such as what a service takes, counts as nothing.
    """

    slowness: float
    cores: float
    measured: Mapping[str, float] = field(default_factory=dict)

    def wait(self, choice: Choice) -> float:
        """Return the seconds that a part adds to each turn."""
        estimate = choice.wait_s * self.slowness * (1 if self.cores > 1 else _ONE_CORE)
        return self.measured.get(choice.key, estimate)

    def turn(self, *choices: Choice) -> float:
        """Return the seconds from the last word to the first sound."""
        return PAUSE_S + self.measured.get(MODEL, 0.0) + sum(map(self.wait, choices))

    def preferred(self, choices: Sequence[Choice], *others: Choice) -> int:
        """Return the place of the first of ``choices`` that makes a turn within the limit.

        If none does: of the fastest. What needs an account, or gives up free speech, is left out.
        """
        places = [i for i, each in enumerate(choices) if not _last(each)]
        seconds = {place: self.turn(choices[place], *others) for place in places}
        fast = (place for place in places if seconds[place] <= LIMIT_S)
        return next(fast, min(places, key=seconds.__getitem__, default=0))

    def faster(self, parts: Sequence[Choice], language: str) -> tuple[Choice, Choice] | None:
        """Return one of ``parts`` and what makes a turn that is over the limit faster in its place.

        The first that brings it within the limit, or else what saves most. None: it is within the
        limit, or nothing that knows ``language`` saves a noticeable time. Blocking: files are read.
        """
        whole = self.turn(*parts)
        if whole <= LIMIT_S:
            return None
        best: tuple[float, Choice, Choice] | None = None
        for part in sorted(parts, key=self.wait, reverse=True):
            rest = [each for each in parts if each is not part]
            for other in EARS if part.kind == "asr" else VOICES:
                if other is part or _last(other) or not other.suits(language):
                    continue
                seconds = self.turn(other, *rest)
                if seconds <= LIMIT_S:
                    return part, other
                if seconds < min(whole - _NOTICED_S, best[0] if best is not None else whole):
                    best = seconds, part, other
        return None if best is None else best[1:]


def _last(choice: Choice) -> bool:
    return choice.account or choice.name == COMMANDS


def pace_here() -> Pace:
    """Measure this machine's pace, which takes a tenth of a second. Blocking."""
    try:
        speed = core_speed(times=_ROUNDS)
    except ConfigError:  # the codec is missing, which is said when the parts are tried
        return Pace(1.0, processor_time())
    return Pace(speed.slowness * speed.shared, processor_time())


def parts_of(settings: Settings) -> list[Choice]:
    """Return the recogniser and the voice of ``settings``, as far as they are offered here."""
    found = ((EARS, settings.asr.given()), (VOICES, settings.tts.given()))
    return [each for every, given in found for each in every if each.section == given]


def advice(settings: Settings, waits: Mapping[str, float], path: Path | None) -> str:
    """Return what makes a slow turn faster, in one sentence. Blocking: files are read.

    ``waits``: seconds of ``asr``, ``agent`` and ``tts``. ``path``: of the settings, None if
    there is no file.
    """
    if waits["agent"] >= sum(waits.values()) / 2:
        return "most of it is the model: a smaller or nearer one is faster"
    parts = parts_of(settings)
    measured = {each.key: waits[each.kind] for each in parts}
    pace = replace(pace_here(), measured={**measured, MODEL: waits["agent"]})
    found = pace.faster(parts, settings.assistant.language) if len(parts) > 1 else None
    if found is None:
        return "docs/speech.md#ears-and-voices compares what is faster"
    option = f"--{'ears' if found[1].kind == 'asr' else 'voice'}"
    answer = (option, found[1].name, "--yes", "--no-wait")
    return f"faster: {vixio_command('setup', *answer, config=path)}"
