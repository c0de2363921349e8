"""Break Vixio on purpose and see whether the demos notice: break_on_purpose.py [NAME…]

Each break changes one place of a copy of the package, runs the demo that should notice, and passes
if that demo fails and names the turn. Without NAME: all, some ten minutes. Those of the demo
``natural`` need its extras (`make demo-natural` installs them) and are left out where these are
missing. Exit status 1 if a break went unnoticed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 600
PACKAGES = Path(sys.prefix) / "models"
"""Where `make test-models` has the packages of the extras, if it has run."""


@dataclass(frozen=True)
class Break:
    """In ``file``, ``old`` becomes ``new``; ``demo`` has to fail, and to name the turn ``turn``."""

    name: str
    demo: str
    file: str
    old: str
    new: str
    turn: str


BREAKS = (
    Break(
        "no farewell",
        "",
        "vixio/language/phrasebook/data/en.json",
        '"sentences": ["[thank you [very much]|thanks [a lot]|okay] (goodbye|',
        '"sentences": ["(goodbye|',
        "a farewell, and the end of the conversation",
    ),
    Break(
        "a conversation that does not end",
        "",
        "vixio/core/session/reply_slot.py",
        "        if reply.ends_conversation and parts.may_close():\n",
        "        if False:\n",
        "a farewell, and the end of the conversation",
    ),
    Break(
        "an apology for a greeting",
        "",
        "vixio/providers/pocketsphinx/worker.py",
        'if certain else [],\n            "rejected"',
        'if certain and len(heard.words) > 1 else [],\n            "rejected"',
        "a greeting",
    ),
    Break(
        "a wrong time of day",
        "",
        "vixio/language/phrasebook/reply.py",
        "hour12=moment.hour % 12 or 12",
        "hour12=(moment.hour + 3) % 12 or 12",
        "the time of day",
    ),
    Break(
        "an answer in another language",
        "",
        "vixio/language/phrasebook/data/en.json",
        '"reply": "Hello! What can I do for you?"',
        '"reply": "你好！"',
        "a greeting",
    ),
    Break(
        "a tool that gets something else",
        "",
        "vixio/language/phrasebook/match.py",
        "            slot.name: slot.value\n",
        "            slot.name: slot.value + 1 if isinstance(slot.value, int) else slot.value\n",
        "the device's volume becomes 30",
    ),
    Break(
        "a foreign sentence that is acted on",
        "",
        "vixio/providers/pocketsphinx/worker.py",
        "margin = score - self._settings.rejection\n",
        "margin = 1.0\n",
        "expected: ",  # which turn depends on what the sentences are taken for
    ),
    Break(
        "a tool that fails",
        "tools",
        "examples/demos/house_local.py",
        '    return "The cat has got her dinner."\n',
        '    raise RuntimeError("the bowl is full")\n',
        "the Python function has run",
    ),
    Break(
        "a door that opens unasked",
        "tools",
        "vixio/core/tools/confirm.py",
        "        if self._agreed == (key, turn_id):\n",
        "        if True:\n",
        "nothing is done before the user's yes",
    ),
    Break(
        "an error that is called a success",
        "tools",
        "vixio/language/phrasebook/match.py",
        "        if self.binding.tool and (read.failed or refused):\n",
        "        if self.binding.tool and refused:\n",
        "the service fails",
    ),
    Break(
        "a step with status 500",
        "api",
        "vixio/web/api/routes/reminders.py",
        "    return _reminder(service, await _known(service, reminder))\n",
        '    raise RuntimeError("broken on purpose")\n',
        "the reminder is on record",
    ),
    Break(
        "a stream without an event",
        "api",
        "vixio/web/feed/content.py",
        'return Content("turn.ended", {**ended, "models": models})',
        "return None",
        "the stream has told all of it",
    ),
    Break(
        "a record without its stages",
        "api",
        "vixio/data/conversations/recorder.py",
        "record.stages = timeline.since_turn_end()",
        "record.stages = {}",
        "the conversation is read back",
    ),
    Break(
        "a fact that is not stored",
        "natural",
        "vixio/data/memory/facts.py",
        "        if cut:\n",
        "        if not cut:\n",
        "the fact is stored",
    ),
    Break(
        "a history that is cut elsewhere",
        "natural",
        "vixio/core/history.py",
        '        left = heard or ""\n',
        '        left = (heard or "")[: len(heard or "") // 3]\n',
        "the model's history ends where the user stopped it",
    ),
)


def broken_copy(each: Break, folder: Path) -> None:
    """Copy the package, and break it. Raises ValueError if the place is not there any more."""
    for name in ("vixio", "config", "examples", "scripts"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    file = folder / each.file
    text = file.read_text(encoding="utf-8")
    if text.count(each.old) != 1:
        raise ValueError(f"{each.name}: {each.file} has {text.count(each.old)} places, not one")
    file.write_text(text.replace(each.old, each.new), encoding="utf-8")


def noticed(printed: str, turn: str) -> bool:
    """Whether a line says that this turn failed."""
    return any(turn in line for line in printed.splitlines() if re.match(r" *FAILED +", line))


def _words(each: Break) -> tuple[str, ...]:
    return ("examples.demos", each.demo) if each.demo else ("vixio", "demo")


def run(each: Break) -> str:
    """Run the demo on the broken copy; return why it did not notice, empty if it did."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        broken_copy(each, folder)
        path = [place, *([str(PACKAGES)] if each.demo == "natural" else [])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        command = [sys.executable, "-m", *_words(each)]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no end within {LIMIT_S} s"
    if "Traceback" in done.stderr:
        return "a traceback:\n" + done.stderr[-2_000:]
    if done.returncode != 1:
        return f"exit status {done.returncode}"
    return "" if noticed(done.stdout, each.turn) else f"no line names it:\n{done.stdout[-2_000:]}"


def main(names: list[str]) -> int:
    """Run the breaks of these names, or all."""
    unknown = set(names) - {each.name for each in BREAKS}
    if unknown:
        sys.stderr.write(f"no such break: {', '.join(sorted(unknown))}\n")
        return 2
    unnoticed = 0
    for each in BREAKS:
        if names and each.name not in names:
            continue
        if each.demo == "natural" and not PACKAGES.is_dir():
            print(f"left out  {each.name}: make setup-for-models")
            continue
        problem = run(each)
        unnoticed += bool(problem)
        where = " ".join(_words(each))
        print(
            f"{'UNNOTICED' if problem else 'noticed'}  {each.name}: {where} {problem}", flush=True
        )
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
