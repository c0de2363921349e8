"""Change the pure modules one operator at a time; do their tests notice? `make mutants`

    mutants.py [MODULE…]        vixio/core/pacer.py, core.pacer, or a pattern of mutmut's

mutmut makes the changes and runs the tests; ``[tool.mutmut]`` in pyproject.toml says of which
modules and by which tests. This prints a table of the modules, and each change that no test
noticed. Changes that no test could notice are listed in tests/equivalent_mutants.tsv. Exit status
1 below ``WANTED``, or if an entry of that list is out of date.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "mutants"
"""Where mutmut works, and keeps what came of each change."""
EQUIVALENT = ROOT / "tests" / "equivalent_mutants.tsv"
WANTED = 0.9
PROCESSES = "2"

UNNOTICED = (0, 5, 33)
"""Exit statuses by which mutmut knows tests that passed, and that there are none."""
TOO_LONG = (-24, 24, 36, 152, 255)
"""The same of tests that ran into their time limit, which on a busy machine says little."""

JOINT = " ¶ "
"""Between the lines of a change that has several."""


@dataclass(frozen=True, order=True)
class Change:
    """A changed line: in which function, without the indentation."""

    place: str
    removed: str
    added: str

    def __str__(self) -> str:
        return f"{self.place}\n    - {self.removed}\n    + {self.added}"


@dataclass
class Module:
    """What came of the changes of one module."""

    name: str
    total: int
    unnoticed: list[tuple[str, Change]]
    """With the names of mutmut's."""
    equivalent: list[Change]

    @property
    def noticed(self) -> int:
        """How many changes made a test fail, or run into its time limit."""
        return self.total - len(self.equivalent) - len(self.unnoticed)

    @property
    def score(self) -> float:
        """The share of what could be noticed that was."""
        return self.noticed / max(1, self.total - len(self.equivalent))


def pattern_of(argument: str) -> str:
    """Return mutmut's pattern for a module or a package."""
    if "*" in argument:
        return argument
    name = argument.removesuffix(".py").replace("/", ".")
    return f"{name if name.startswith('vixio.') else f'vixio.{name}'}.*"


def place_of(mutant: str) -> str:
    """Return the dotted name of the function that ``mutant`` is a change of."""
    name = re.sub(r"__mutmut_\d+$", "", mutant)
    return re.sub(r"\.(?:x_|xǁ)", ".", name).replace("ǁ", ".")


def change_of(mutant: str, path: str) -> Change:
    """Return what ``mutant`` of the module at ``path`` has changed."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    lines = get_diff_for_mutant(mutant, path=path).splitlines()[2:]
    removed, added = (
        JOINT.join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+"
    )
    return Change(place_of(mutant), removed, added)


def read_equivalent() -> set[Change]:
    """Return the changes that no test could notice."""
    with EQUIVALENT.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return {Change(place, removed, added) for place, removed, added, _why in rows}


def run_mutmut(patterns: list[str]) -> None:
    """Run the tests of all changes, or again of those that match ``patterns``."""
    if patterns:
        # mutmut keeps which test runs which function, and would not see a test that has changed.
        (COPY / "mutmut-stats.json").unlink(missing_ok=True)
    else:
        shutil.rmtree(COPY, ignore_errors=True)
    code = "import sys; sys.argv[0] = 'mutmut'; from mutmut.__main__ import cli; cli()"
    command = [sys.executable, "-c", code, "run", "--max-children", PROCESSES, *patterns]
    log = ROOT / "mutants.log"
    with log.open("wb") as output:
        print(f"mutants: running; {log.name} has mutmut's own output", flush=True)
        if subprocess.run(command, cwd=ROOT, stdout=output, stderr=output, check=False).returncode:
            raise SystemExit(f"mutants: mutmut failed: the end of {log.name} says why")


def read_results(patterns: list[str], equivalent: set[Change]) -> Iterator[Module]:
    """Read what mutmut has written, of the changes that match ``patterns``."""
    for path in sorted(COPY.glob("vixio/**/*.meta")):
        source = str(path.relative_to(COPY)).removesuffix(".meta")
        codes: dict[str, int | None] = json.loads(path.read_text("utf-8"))["exit_code_by_key"]
        codes = {
            name: code
            for name, code in codes.items()
            if not patterns or any(fnmatch(name, pattern) for pattern in patterns)
        }
        if not codes:
            continue
        if None in codes.values():
            raise SystemExit(f"mutants: {source} has changes that mutmut did not try")
        doubtful = [name for name, code in codes.items() if code in UNNOTICED + TOO_LONG]
        changes = [(name, change_of(name, source)) for name in doubtful]
        yield Module(
            source,
            len(codes),
            [
                (name, change)
                for name, change in changes
                if change not in equivalent and codes[name] in UNNOTICED
            ],
            [change for _, change in changes if change in equivalent],
        )


def table(modules: Iterable[Module]) -> Iterator[str]:
    """Yield the lines of the table, as Markdown."""
    yield "| module | mutants | noticed | equivalent | score |"
    yield "|---|---|---|---|---|"
    for each in modules:
        counts = f"{each.total} | {each.noticed} | {len(each.equivalent)}"
        yield f"| {each.name} | {counts} | {each.score:.1%} |"


def main(arguments: list[str]) -> int:
    """Run mutmut and report; return the exit status."""
    os.chdir(ROOT)
    patterns = [pattern_of(argument) for argument in arguments]
    run_mutmut(patterns)
    equivalent = read_equivalent()
    modules = list(read_results(patterns, equivalent))
    found = [change for each in modules for change in each.equivalent]
    unnoticed = [pair for each in modules for pair in each.unnoticed]
    whole = Module("all", sum(each.total for each in modules), unnoticed, found)
    print("\n".join(table([*modules, whole])))
    for name, change in unnoticed:
        print(f"\n{name}\n{change}")
    outdated = set() if patterns else equivalent - set(found)
    for change in sorted(outdated):
        print(f"\n{EQUIVALENT.name} is out of date: gone, or a test notices it:\n{change}")
    return 1 if outdated or whole.score < WANTED else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
