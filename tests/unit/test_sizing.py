"""docs/performance.md says what scripts/sizing.py prints, and that adds up."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "sizing.py"
PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```\n\$ python scripts/sizing\.py (.*)\n([^`]*)```$", PAGE, re.MULTILINE)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module


sizing = load(SCRIPT)


def lines(words: str) -> dict[str, str]:
    """Return what is printed, by the word at the beginning; the first of each."""
    found: dict[str, str] = {}
    for line in sizing.report(sizing.arguments(shlex.split(words))):
        found.setdefault(line[:14].strip(), line[15:])
    return found


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == PAGE.count("$ python scripts/sizing.py") == 4


@pytest.mark.parametrize(("words", "printed"), EXAMPLES, ids=[each[0] for each in EXAMPLES])
@pytest.mark.slow
def test_the_page_says_what_the_command_prints(words: str, printed: str) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *shlex.split(words)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == printed


def test_the_figures_of_the_page_are_those_of_the_script() -> None:
    table = dict(re.findall(r"^\| `--([a-z-]+)` \| ([0-9.]+) \|", PAGE, re.MULTILINE))
    assert len(table) == 8
    for name, value in table.items():
        assert float(value) == sizing.FIGURES[name][0], name
    means = re.findall(r"^\| mean \|(.*)\|$", PAGE, re.MULTILINE)[0].split("|")
    names = ("tokens-fixed", "tokens-conversation", "tokens-written", "heard", "spoken")
    assert [float(each) for each in means[1:]] == [sizing.FIGURES[each][0] for each in names]


@pytest.mark.parametrize(
    ("words", "cores", "machines"),
    [
        ("--devices 1000 --conversing 1", "3.6 x 1.8 = 6.5", "6.5 / 16 = 1 and 1 spare"),
        ("--devices 1000000 --conversing 0.02", "72.0 x 1.8 = 129.6", "129.6 / 16 = 9 and 2 spare"),
        # Exactly full machines are not one more, by a rounding error.
        (
            "--devices 100 --conversing 1 --core-conversing 0.1 --head-room 1.6",
            "10.0 x 1.6 = 16.0",
            "16.0 / 16 = 1 and 1 spare",
        ),
    ],
)
def test_machines_hold_the_cores(words: str, cores: str, machines: str) -> None:
    found = lines(words)
    assert found["cores"] == cores
    assert found["machines"] == machines


def test_more_than_a_cell_is_divided() -> None:
    found = lines("--devices 50001 --listening 1")
    assert found["cells"] == "50,001 / 50,000 = 2"
    assert found["in all"].startswith("2 x ")
    assert "in all" not in lines("--devices 50000 --listening 1")


def test_money_is_counted_where_there_are_prices() -> None:
    month = "--devices 1000 --conversing 0.01 --minutes-a-day 1 --turn-every 6 --tokens-fixed 1000"
    assert not any("cost" in each for each in lines(month))
    found = lines(f"{month} --price-read 2 --price-cached 1 --tokens-conversation 500")
    # 1,000 devices, 10 turns a day, 30.4 days: 304,000 turns.
    assert found["read, fixed"] == "304 million tokens x 1 = 304.00"
    assert found["read, other"] == "152 million tokens x 2 = 304.00"
    assert found["cost"] == "608.00 for a thousand devices"
    dearer = lines(f"{month} --price-read 2 --tokens-conversation 500")
    assert dearer["read, fixed"] == "304 million tokens x 2 = 608.00"


@pytest.mark.parametrize(
    "words",
    [
        "--devices 0 --conversing 1",
        "--devices 10",
        "--devices 10 --conversing 1.5",
        "--devices 10 --conversing -0.1 --listening 0.5",
    ],
)
def test_what_makes_no_sense_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sizing.arguments(shlex.split(words))
    assert "expected" in capsys.readouterr().err


def test_a_turn_is_counted_by_what_was_sent() -> None:
    use = load(ROOT / "scripts" / "measure_turn_use.py")
    schema = {"type": "function", "function": {"name": "lamp", "parameters": {}}}
    request = {
        "messages": [
            {"role": "system", "content": "s" * 400},
            {"role": "user", "content": "u" * 40},
        ],
        "tools": [schema],
    }
    once = use.read([request])
    assert use.read([request, request]) == (2 * once[0], 2 * once[1])
    assert once[0] == use.tokens("s" * 400) + use.tokens([schema])
    assert use.tokens("s" * 400) >= 100
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "call-1"}]}
    more = use.read([request, {"messages": [called]}])
    assert more[0] == once[0] + use.tokens([])
    assert more[1] > once[1]
