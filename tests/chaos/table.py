"""The report as a table for people."""

from __future__ import annotations

from tests.chaos.run import Report, Row

_HEAD = (
    "attack",
    "times",
    "what attackers saw",
    "turns",
    "p50 ms",
    "p95 ms",
    "less held up",
    "late",
    "lost",
    "crossed",
    "loop lag ms",
    "verdict",
)


def render(report: Report) -> str:
    """Return the table in Markdown, and every problem beneath."""
    quiet = report.quiet
    rows = [
        (
            "(quiet)",
            "",
            "",
            f"{quiet.turns}",
            f"{quiet.p50_ms:.0f}",
            f"{quiet.p95_ms:.0f}",
            f"{quiet.own_p95_ms:.0f}",
            f"{quiet.late}",
            f"{quiet.lost}",
            f"{quiet.crossed}",
            "",
            "",
        ),
        *(_cells(row) for row in report.rows),
    ]
    widths = [max(len(line[column]) for line in (_HEAD, *rows)) for column in range(len(_HEAD))]
    lines = [_line(_HEAD, widths), _line(["-" * width for width in widths], widths)]
    lines += [_line(row, widths) for row in rows]
    lines += ["", _growth(report)]
    problems = [f"{row.name}: {problem}" for row in report.rows for problem in row.problems]
    problems += report.problems
    if problems:
        lines += ["", "Problems:", *(f"- {problem}" for problem in dict.fromkeys(problems))]
    lines += ["", "PASSED" if report.passed else "FAILED"]
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    felt = row.felt
    most = sorted(row.outcome.seen.items(), key=lambda item: -item[1])[:3]
    seen = ", ".join(f"{name} {count}" for name, count in most)
    return (
        row.name,
        f"{row.outcome.done:,}",
        seen.replace("|", "/")[:48],
        f"{felt.turns}",
        f"{felt.p50_ms:.0f}",
        f"{felt.p95_ms:.0f}",
        f"{felt.own_p95_ms:.0f}",
        f"{felt.late}",
        f"{felt.lost}",
        f"{felt.crossed}",
        f"{row.server_lag_ms:.0f}",
        "passed" if row.passed else "FAILED",
    )


def _growth(report: Report) -> str:
    parts = [
        f"{name} {report.before[name]:,} → {value:,}"
        for name, value in report.after.items()
        if value or report.before[name]
    ]
    return "Before → after: " + ", ".join(parts) + "."


def _line(cells: tuple[str, ...] | list[str], widths: list[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"
