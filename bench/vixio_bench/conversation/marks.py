"""What the figures are held to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Final

from vixio_bench.conversation.echoes import Echoed
from vixio_bench.conversation.over import FREE, PAUSED, Over
from vixio_bench.conversation.play import Outcome, Played
from vixio_bench.conversation.troubles import Survived

Mark = tuple[str, bool]
"""In words, and whether it is met."""

RESPONSE_MS: Final = 560.0
"""From the last word of a known command to the sound, p50; 160 ms of it are
``output.start_lead_ms``."""
AMONG_OTHERS_MS: Final = 1_500.0
"""While others talk: from the user's last word to the end of the turn."""
AMONG_OTHERS: Final = 0.9
LATER_MS: Final = 150.0
"""By so much an answer counts as later: two packets and the machine's own scatter."""
LATER_AT_MOST: Final = 0.02
EXTRA_CALLS: Final = 0.5
"""Answers that were begun and dropped, for each situation."""
SLOW_MS: Final = 1_300.0
"""From the last word to the sound with the stand-ins of ``--stand-ins``, p50: they take 900 ms of
it, and thinking begins after 200 ms of silence."""
SUBTITLE_MS: Final = 200.0
"""By which a subtitle may be away from its sound."""
SILENCE_MS: Final = (280.0, 400.0)
"""From the first sample of a voice over a speech to the last of the speech, p50 and p90. Of these
some 70 ms are the device's: the packet that sounds, and the time until it empties its queue."""
RESUMED_MS: Final = 50.0
"""By which a speech may go on elsewhere than it was held."""


class Figures:
    """One way, group by group."""

    def __init__(self, played: Played) -> None:
        self.played = played
        self.groups: dict[str, list[Outcome]] = {}
        for outcome in played.outcomes:
            self.groups.setdefault(outcome.situation.group, []).append(outcome)

    def of(self, groups: Iterable[str]) -> list[Outcome]:
        """Return the outcomes of these groups."""
        return [outcome for group in groups for outcome in self.groups.get(group, [])]

    def response(self, groups: Iterable[str], share: float) -> float | None:
        """Return the response time in ms that this share of the answers has; None without any."""
        found = sorted(o.response_ms for o in self.of(groups) if o.response_ms is not None)
        if not found:
            return None
        return (
            statistics.median(found)
            if share == 0.5
            else found[min(len(found) - 1, int(share * len(found)))]
        )

    def cut(self, groups: Iterable[str]) -> int:
        """Return how many users were cut off."""
        return sum(outcome.cut for outcome in self.of(groups))


_WHOLE: Final = ("known", "slow", "quick", "noise", "other")
"""Groups without a pause in what is said."""


def later(off: Figures, on: Figures) -> tuple[int, int]:
    """Return how many of what was said without a pause was answered later, and of how many."""
    pairs = [
        (before.response_ms, after.response_ms)
        for before, after in zip(off.of(_WHOLE), on.of(_WHOLE), strict=True)
        if before.response_ms is not None and after.response_ms is not None
    ]
    return sum(after > before + LATER_MS for before, after in pairs), len(pairs)


def marks(off: Figures, on: Figures) -> list[Mark]:
    """Return each mark and whether it is met; none is where nothing was measured."""
    every = tuple(on.groups)
    response = on.response(("known",), 0.5)
    slower, of = later(off, on)
    number = len(on.played.outcomes)
    dropped = on.played.counters["turn.ahead_dropped"]
    clipped = sum(outcome.clipped_ms for outcome in on.played.outcomes)
    others = on.of(("others",))
    prompt = sum((each.turn_ms or math.inf) <= AMONG_OTHERS_MS for each in others)
    promptly = f"{prompt} of {len(others)}"
    answered = sum(not outcome.right for outcome in on.of(("cough",)))
    return [
        (
            f"known commands answered within {RESPONSE_MS:.0f} ms (p50): {ms(response)}",
            response is not None and response <= RESPONSE_MS,
        ),
        (
            f"among others, {AMONG_OTHERS:.0%} end in {AMONG_OTHERS_MS:.0f} ms: {promptly}",
            bool(others) and prompt >= AMONG_OTHERS * len(others),
        ),
        (
            f"no more users cut off than without: {on.cut(every)}, without {off.cut(every)}",
            number > 0 and on.cut(every) <= off.cut(every),
        ),
        (
            f"whole sentences answered later, at most {LATER_AT_MOST:.0%}: {slower} of {of}",
            of > 0 and slower <= LATER_AT_MOST * of,
        ),
        (
            f"answers begun in vain, at most {EXTRA_CALLS} for each: {dropped} for {number}",
            number > 0 and dropped <= EXTRA_CALLS * number,
        ),
        (f"0 ms of answers clipped: {clipped:.0f}", number > 0 and clipped == 0),
        (f"no cough answered: {answered}", bool(on.of(("cough",))) and answered == 0),
    ]


def slow_marks(on: Figures) -> list[Mark]:
    """Return the mark of providers that take their time, as services do."""
    response = on.response(("known", "slow", "quick", "noise", "other"), 0.5)
    words = f"stand-ins of 300, 400, 200 ms: answered within {SLOW_MS:.0f} ms (p50): {ms(response)}"
    return [(words, response is not None and response <= SLOW_MS)]


def silences(found: Iterable[Over]) -> list[float]:
    """Return how long it took until those speeches were silent that were to end, in order."""
    wanted = (each for each in found if each.said.wanted != "goes on")
    return sorted(each.silence_ms for each in wanted if each.silence_ms is not None)


def share(ordered: Sequence[float], of: float) -> float | None:
    """Return the value that this share of them has; None without any."""
    if not ordered:
        return None
    return (
        statistics.median(ordered)
        if of == 0.5
        else ordered[min(len(ordered) - 1, int(of * len(ordered)))]
    )


def over_marks(way: str, found: Sequence[Over]) -> list[Mark]:
    """Return the marks of what is said over a speech; none for settings that nobody is given."""
    if way == PAUSED:
        return []
    wanted = [each for each in found if each.said.wanted != "goes on"]
    others = [each for each in found if each.said.wanted == "goes on"]
    if way != FREE:  # any voice ends the speech there, "mhm" as well
        others = [each for each in others if each.said.group != "mhm"]
    missed, false = sum(each.missed for each in wanted), sum(each.false for each in others)
    half, most = (share(silences(found), of) for of in (0.5, 0.9))
    prompt = half is not None and half <= SILENCE_MS[0] and (most or 0) <= SILENCE_MS[1]
    limits = f"{SILENCE_MS[0]:.0f} ms (p50), {SILENCE_MS[1]:.0f} ms (p90)"
    marks = [
        (f"{way}: 0 interruptions missed: {missed} of {len(wanted)}", bool(wanted) and not missed),
        (
            f"{way}: 0 speeches ended by nothing: {false} of {len(others)}",
            bool(others) and not false,
        ),
        (f"{way}: voice to silence {limits}: {ms(half)}, {ms(most)}", prompt),
    ]
    away = sum(abs(ms_) > SUBTITLE_MS for each in found for ms_ in each.subtitles_ms)
    words = f"{way}: 0 sentences shown more than {SUBTITLE_MS:.0f} ms from their sound: {away}"
    marks.append((words, bool(found) and not away))
    if way == FREE:
        moved = [each.course.resumed_ms for each in others if each.course.resumed_ms is not None]
        far = max(map(abs, moved), default=None)
        lost = sum(each.course.missing_ms + each.course.repeated_ms for each in found)
        marks += [
            (
                f"{way}: speech goes on within {RESUMED_MS:.0f} ms of where it was held: {ms(far)}",
                far is not None and far <= RESUMED_MS,
            ),
            (f"{way}: 0 ms of speech clipped or repeated: {lost:.0f}", bool(found) and lost == 0),
        ]
    return marks


def echo_marks(found: Sequence[Echoed]) -> list[Mark]:
    """Return the marks of devices that hear themselves."""
    itself = sum(each.itself for each in found)
    marks = [(f"echo: 0 answers that interrupt themselves: {itself}", bool(found) and not itself)]
    for db, most in ((-12.0, 0), (-6.0, 1)):
        users = [each for each in found if each.echo.user and each.echo.echo_db == db]
        missed = sum(not (each.heard or each.itself) for each in users)
        words = f"echo of {db:g} dB: at most {most} of 20 users missed: {missed} of {len(users)}"
        marks.append((words, bool(users) and missed <= most * len(users) / 20))
    return marks


def trouble_marks(found: Sequence[Survived]) -> list[Mark]:
    """Return what must hold whatever happens to a turn."""
    lost = sum(each.lost > 1 or not each.after for each in found)
    clipped = sum(each.clipped_ms for each in found)
    wrong = sum(bool(each.wrong) for each in found)
    return [
        (
            f"troubles: at most one turn lost, the next one answered: {lost} not",
            bool(found) and not lost,
        ),
        (f"troubles: 0 ms clipped that nobody cut: {clipped:.0f}", bool(found) and clipped == 0),
        (f"troubles: nothing that a server must not send: {wrong}", bool(found) and not wrong),
    ]


def ms(value: float | None) -> str:
    """Return a time for people."""
    return "–" if value is None else f"{value:.0f} ms"
