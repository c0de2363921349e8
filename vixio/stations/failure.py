"""A turn that a listening station could not go on with."""

from __future__ import annotations

from vixio.core.chunk import TurnFailed
from vixio.core.errors import cause, describe


def turn_failure(turn_id: int, stage: str, error: Exception) -> TurnFailed:
    """Return ``error`` as the end of a turn, with what is known of its cause."""
    return TurnFailed(turn_id, stage, describe(error), *cause(error))
