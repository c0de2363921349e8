"""The scripted providers, in the place of every other."""

from __future__ import annotations

import pytest

from tests.unit.cli.diagnostics.kit import Kit


@pytest.fixture
def kit(monkeypatch: pytest.MonkeyPatch) -> Kit:
    kit = Kit()
    kit.install(monkeypatch)
    return kit
