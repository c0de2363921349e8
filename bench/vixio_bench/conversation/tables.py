"""The figures for people, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vixio_bench.conversation.echoes import Echoed
from vixio_bench.conversation.marks import Figures, ms, share, silences
from vixio_bench.conversation.over import Over
from vixio_bench.conversation.troubles import Survived


def table(off: Figures, on: Figures) -> str:
    """Return what was said to a listening device, off beside on."""
    lines = [
        "| kind | situations | response off: p50, p95 | on | cut off: off | on | right: off | on |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for group, outcomes in on.groups.items():
        cells = [group, str(len(outcomes))]
        for way in (off, on):
            both = (way.response((group,), share) for share in (0.5, 0.95))
            cells.append(", ".join(map(ms, both)))
        cells += [str(way.cut((group,))) for way in (off, on)]
        cells += [str(sum(each.right for each in way.of((group,)))) for way in (off, on)]
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    gaps = (sum(each.gap_ms for each in way.played.outcomes) for way in (off, on))
    lines.append("silence within answers: {:.0f} ms off, {:.0f} ms on".format(*gaps))
    counts = on.played.counters
    lines.append(
        f"answers begun ahead: {counts['turn.ahead']}, of them taken "
        f"{counts.get('turn.ahead_taken', 0)}, dropped {counts['turn.ahead_dropped']}; "
        f"tokens of a model: {_tokens(off)} off, {_tokens(on)} on"
    )
    return "\n".join(lines)


def _tokens(figures: Figures) -> int:
    counters = figures.played.counters
    return sum(counters.get(f"model.tokens.{each}", 0) for each in ("input", "output"))


def over_table(ways: Mapping[str, Sequence[Over]]) -> str:
    """Return what was said over a long answer."""
    lines = [
        "| over an answer | situations | missed | ended by nothing | voice to silence: p50, p90 | of it until tts stop: p50 | went on elsewhere by | clipped | repeated |",  # noqa: E501
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for way, found in ways.items():
        for group in dict.fromkeys(each.said.group for each in found):
            of = [each for each in found if each.said.group == group]
            quiet = silences(of)
            told = sorted(each.told_ms for each in of if each.told_ms is not None)
            moved = [each.course.resumed_ms for each in of if each.course.resumed_ms is not None]
            cells = [
                f"{way}: {group}",
                str(len(of)),
                str(sum(each.missed for each in of)),
                str(sum(each.false for each in of)),
                f"{ms(share(quiet, 0.5))}, {ms(share(quiet, 0.9))}",
                ms(share(told, 0.5)),
                ms(max(map(abs, moved), default=None)),
                ms(sum(each.course.missing_ms for each in of)),
                ms(sum(each.course.repeated_ms for each in of)),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def echo_table(found: Sequence[Echoed]) -> str:
    """Return what devices made of their own sound, and of users over it."""
    lines = [
        "| echo against the user | answers | ended by itself | by the user | voice to silence |",
        "|---|---|---|---|---|",
    ]
    for group in dict.fromkeys(each.echo.group for each in found):
        of = [each for each in found if each.echo.group == group]
        quiet = sorted(each.silence_ms for each in of if each.silence_ms is not None)
        both = f"{ms(share(quiet, 0.5))}, {ms(share(quiet, 0.9))}"
        ends = f"{sum(each.itself for each in of)} | {sum(each.heard for each in of)}"
        lines.append(f"| {group} | {len(of)} | {ends} | {both} |")
    return "\n".join(lines)


def trouble_table(found: Sequence[Survived]) -> str:
    """Return what became of turns that were disturbed, and of those behind them."""
    lines = [
        "| trouble | at | turns lost | next one answered | to silence | clipped | silent within |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in found:
        cells = [
            each.trouble.group,
            each.trouble.name,
            str(each.lost),
            "yes" if each.after else "no",
            ms(each.silence_ms),
            ms(each.clipped_ms),
            ms(each.gap_ms),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
