"""Every command of ``vixio`` in the default install asks for no name and no other machine.

docs/security.md, "Nothing leaves the machine unasked". A new command has to be added to
traced_commands.py, or this fails.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.firmware_images import application
from tests.support.private_home import PrivateHome
from tests.support.trace import needs_strace, traced
from tests.trace.traced_commands import (
    ELSEWHERE,
    IMAGE,
    STEPS,
    UNTRACED,
    all_commands,
)
from vixio.cli.commands import main

RUNNER = Path(__file__).parents[1] / "support" / "run_commands.py"
SECONDS = 500.0
"""Half a minute of work, which gets a part of a busy machine."""


def test_every_command_is_traced_or_has_a_reason() -> None:
    traced_here = {step.command for step in STEPS}
    assert {*traced_here, *ELSEWHERE, *UNTRACED} == set(all_commands(main))
    assert not traced_here & {*ELSEWHERE, *UNTRACED}


@needs_strace
@pytest.mark.timeout(600)
def test_no_command_asks_for_anything(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    home.work.joinpath(IMAGE[1]).write_bytes(application(IMAGE[0]))
    home.work.joinpath("profile.yaml").write_text("language: en\n", encoding="utf-8")
    steps, results = tmp_path / "steps.json", tmp_path / "results.json"
    steps.write_text(json.dumps([step.as_json() for step in STEPS]), encoding="utf-8")
    output = tmp_path / "output"
    with traced(
        [sys.executable, RUNNER, steps, results],
        cwd=home.work,
        environment=home.environment,
        output=output,
    ) as run:
        contacts = run.wait(SECONDS)
    assert run.process.returncode == 0, output.read_text(errors="replace")
    done = json.loads(results.read_text(encoding="utf-8"))
    wrong = [
        result
        for step, result in zip(STEPS, done, strict=True)
        if step.status not in (None, result["status"]) or "Traceback" in result["output"]
    ]
    assert not wrong, json.dumps(wrong, indent=1)
    assert contacts == []
    assert home.unexpected() == []
