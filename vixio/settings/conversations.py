"""The section ``conversations``: turns on record."""

from __future__ import annotations

from pydantic import Field

from vixio.settings.sections import Section


class ConversationsSection(Section):
    """What was said, with the times of each stage and the tools. See docs/conversations.md."""

    keep_days: float = Field(default=30, ge=0, le=36_500, allow_inf_nan=False)
    """How long a turn is kept; 0: none is."""
