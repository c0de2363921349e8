"""The audit of the locks says what it found, and says so when it could not look."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "audit.py"

CLEAN = {"name": "a", "version": "1", "vulns": []}
HIT = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
SKIPPED = {"name": "c", "skip_reason": "not found"}


def audit(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[dict[str, Any]] | None]
) -> tuple[ModuleType, int]:
    """Run it with what each service finds; None: no answer."""
    specification = importlib.util.spec_from_file_location("audit", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)

    def run(command: list[str]) -> Any:  # noqa: ANN401  a class of the script
        if "install" in command:
            return module.Answer(True, "")
        found = answers.get(command[command.index("--vulnerability-service") + 1])
        return module.Answer(True, "" if found is None else json.dumps({"dependencies": found}))

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module.venv, "create", lambda *args, **kwargs: None)
    return module, module.main(["base.lock"])


@pytest.mark.parametrize(
    ("answers", "status", "said"),
    [
        ({"pypi": [CLEAN]}, 0, "1 packages asked at pypi, 0 with"),
        ({"pypi": None, "osv": [CLEAN]}, 0, "at osv"),
        ({"pypi": [CLEAN, HIT]}, 1, "b 2: PYSEC-1, fixed in 2.1"),
        ({"pypi": [CLEAN, SKIPPED], "osv": None}, 2, "pypi does not know c, osv does not answer"),
        ({"pypi": [SKIPPED], "osv": [SKIPPED]}, 2, "NOT DONE"),
        ({}, 2, "NOT DONE, it needs a network: pypi does not answer, osv does not answer"),
    ],
)
def test_what_it_finds_is_what_it_says(
    answers: dict[str, list[dict[str, Any]] | None],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert audit(monkeypatch, answers)[1] == status
    out, err = capsys.readouterr()
    assert said in out + err
    assert "Traceback" not in out + err
