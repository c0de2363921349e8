"""A service of the churn test that is a process of its own, run by ``vixio tool-service``."""

from __future__ import annotations

import os
from typing import Any

from tests.load.tool_churn.services import GENERATION, NUMBER, descriptor, tools
from vixio.bus import DynamicToolService

_NUMBER = int(os.environ[NUMBER])
_DESCRIBED = descriptor(_NUMBER)


class Service(DynamicToolService):
    """Answers with what the tool configures."""

    id = str(_DESCRIBED["id"])
    request_queue = str(_DESCRIBED["request-queue"])
    config_params = ({"name": "answer", "required": True},)
    tools = tuple(tools(_NUMBER, int(os.environ[GENERATION])))

    async def invoke(self, user: str, config: dict[str, Any], arguments: dict[str, Any]) -> str:
        """Return the answer of the tool."""
        return str(config["answer"])
