"""Types of values in requests, which several routes have in common."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
"""A database may refuse other characters."""


class Body(BaseModel):
    """A request's body: of the stated types exactly, and nothing else."""

    model_config = ConfigDict(strict=True, extra="forbid")


DevicePath = Annotated[
    str,
    Path(
        description="A device's id, its MAC address, or its name.",
        min_length=1,
        max_length=128,
        pattern=PRINTABLE,
        examples=["02:00:00:00:00:01"],
    ),
]

TokenPath = Annotated[str, Path(description="A token's id.", pattern="^[0-9a-f]{16}$")]

BoardPath = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]

VersionPath = Annotated[str, Path(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9}){0,7}$")]

Limit = Annotated[int, Query(ge=1, le=500)]

Offset = Annotated[int, Query(ge=0, le=1_000_000)]

Name = Annotated[str, Field(max_length=64, pattern=PRINTABLE)]

Words = Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"\S")]

Filter = Annotated[str, Query(max_length=128, pattern=PRINTABLE)]
