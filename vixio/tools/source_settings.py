"""What the settings of tool sources have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

RESERVED = frozenset({"client", "confirm", "device"})
"""The sources of a session's own tools, and a group of counters."""

Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]
Pattern = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1)]
Retries = Annotated[int, Field(ge=0, le=10)]
Headers = dict[Annotated[str, Field(min_length=1, max_length=256)], SecretStr]


class SourceSettings(BaseModel):
    """Options of a tool source. A key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def check_name(value: str, taken: frozenset[str] = RESERVED) -> str:
    """Return ``value`` if it can name a source. Raises ValueError."""
    if not _NAME.fullmatch(value) or value in taken:
        raise ValueError(
            f"expected a name of letters, digits, _, - and . other than "
            f"{', '.join(sorted(taken))}; found {value!r}"
        )
    return value


SourceName = Annotated[str, AfterValidator(check_name)]


def revealed(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    """Return the values behind ``secrets``."""
    return {name: value.get_secret_value() for name, value in secrets.items()}
