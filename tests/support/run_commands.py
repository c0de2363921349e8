"""Runs commands of ``vixio``, each in a process of its own: run_commands.py STEPS RESULTS

Both are files of JSON. A step is ``{"argv": […], "stdin": "…", "keep": ["NAME", "REGEX"], "few":
bool}``; its arguments may have ``{NAME}``, which stands for what the first group of REGEX found in
the output of an earlier step.
``few``: `bench speech` over a few utterances instead of all. A result is ``{"argv", "status",
"output"}``. The processes are forks of this one, which has imported what all commands need.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import vixio.composition.registry
import vixio.telemetry.logging.setup  # noqa: F401 - imported for the forks
from vixio.cli.commands import main

FEW = 2


def run(step: dict[str, Any], kept: dict[str, str]) -> dict[str, Any] | None:
    """Return the result of a step. In the fork: become the command, and return None."""
    argv = [each.format(**kept) for each in step["argv"]]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(step.get("stdin", "").encode())
        given.seek(0)
        if (child := os.fork()) == 0:
            os.dup2(given.fileno(), 0)
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            if step.get("few"):
                from vixio_bench import speech

                speech.bench_speech = functools.partial(
                    speech.bench_speech, limit=FEW, latency_samples=1
                )
            sys.argv = ["vixio", *argv]
            return None
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        output = said.read().decode(errors="replace")
    if step.get("keep") and (found := re.search(step["keep"][1], output)):
        kept[step["keep"][0]] = found[1]
    return {"argv": argv, "status": status, "output": output}


def run_all(steps: Path, results: Path) -> bool:
    """Run all steps. Return whether this process has become a command."""
    done: list[dict[str, Any]] = []
    kept: dict[str, str] = {}
    for step in json.loads(steps.read_text(encoding="utf-8")):
        if (result := run(step, kept)) is None:
            return True
        done.append(result)
    results.write_text(json.dumps(done), encoding="utf-8")
    return False


if __name__ == "__main__" and run_all(Path(sys.argv[1]), Path(sys.argv[2])):
    main(prog_name="vixio")
