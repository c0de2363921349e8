"""A stock ticker that answers in pieces, each spoken as it comes.

vixio tool-service ticker:TickerService --url nats://127.0.0.1:4222
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

from vixio.bus import DynamicToolService, ToolError

PRICES = {"acme": 41.5, "globex": 17.25, "initech": 8.0}
"""What they cost at the last close; an exchange's feed would stand here."""


class TickerService(DynamicToolService):
    """Follows the price of a share for some moments."""

    id = "ticker"
    config_params = ({"name": "every"},)
    tools = (
        {
            "name": "watch-share",
            "description": "Follow the price of a share and tell every change.",
            "every": 1.0,
            "stream": "say",
            "read_only": True,
            "arguments": [
                {"name": "company", "type": "string", "enum": sorted(PRICES)},
                {"name": "changes", "type": "integer", "minimum": 1, "maximum": 10, "default": 3},
            ],
        },
    )

    async def invoke(
        self, user: str, config: dict[str, Any], arguments: dict[str, Any]
    ) -> AsyncIterator[str]:
        """Yield a sentence for each change."""
        company = arguments["company"]
        if company not in PRICES:
            raise ToolError("not_found", f"there is no share of {company}")
        price = PRICES[company]
        yield f"{company.title()} stands at {price:.2f}. "
        for _ in range(arguments.get("changes", 3)):
            await asyncio.sleep(config.get("every", 1.0))
            price *= random.uniform(0.98, 1.02)  # noqa: S311 - an example
            yield f"Now {price:.2f}. "
