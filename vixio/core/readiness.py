"""Whether a process should get new devices: named checks, which parts of the server add."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_log = logging.getLogger(__name__)

Check = Callable[[], str]
"""Returns why its part cannot serve, in a few words without private content; empty: it can.

Called on the event loop at each probe, so it returns at once: it reads what is known already.
"""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check says now. ``reason``: empty if all is well."""

    name: str
    reason: str

    @property
    def ok(self) -> bool:
        """Whether the part can serve."""
        return not self.reason


class Readiness:
    """The checks of one process, in the order in which they were added."""

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        """Add a check. Raises ValueError if the name is taken."""
        if name in self._checks:
            raise ValueError(f"there is a readiness check {name!r} already")
        self._checks[name] = check

    def results(self) -> Sequence[CheckResult]:
        """Return what all checks say now. A check that raises has failed."""
        return [CheckResult(name, _reason(name, check)) for name, check in self._checks.items()]


def _reason(name: str, check: Check) -> str:
    try:
        return check()
    except Exception:  # noqa: BLE001 - a defect of one check must not hide what the others say
        _log.exception("readiness check failed", extra={"check": name})
        return "the check itself failed, see the log"
