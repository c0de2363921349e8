"""Environment variables in texts of the settings: ``${VAR}``, ``${VAR:default}``, ``$${``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from vixio.core.errors import ConfigError

_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^{}]*))?\}|\$\{")


def expanded(
    text: str,
    environment: Mapping[str, str],
    error: Callable[[str], ConfigError],
    remedy: Callable[[str], str],
    note: Callable[[str], None] = lambda _: None,
) -> str:
    """Return ``text`` with the values of its variables, which are not expanded again.

    ``note`` is called with each value that the environment has given.

    Raises what ``error`` makes of a message, for a variable without a value (``remedy`` of its name
    says what to do) and for what is no reference.
    """

    def value(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2)
        if match.group() == "$${":
            return "${"
        if not name:
            raise error("expected ${VAR} or ${VAR:default}; to mean ${ itself write $${")
        given = environment.get(name)
        if given:
            note(given)
        found = given or default
        if found is None:
            state = "is empty" if name in environment else "is not set"
            raise error(f"the environment variable {name} {state}: {remedy(name)}")
        return found

    return _REFERENCE.sub(value, text)
