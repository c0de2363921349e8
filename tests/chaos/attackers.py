"""Main of the attackers' process: apart from the healthy devices, so as not to disturb those."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from tests.chaos import (
    attack_camera,
    attack_clients,
    attack_floods,
    attack_protocol,
    attack_providers,
    attack_sources,
    attack_tools,
    attack_wire,
    attack_workers,
)
from tests.chaos.outcome import Outcome
from tests.chaos.rogue_service import RogueService
from tests.chaos.rpc import Handler, serve_commands

ATTACKS: dict[str, Callable[..., Awaitable[Outcome]]] = {
    function.__name__: function
    for function in (
        attack_protocol.fuzz,
        attack_protocol.shapes,
        attack_protocol.garbage_opus,
        attack_wire.violations,
        attack_wire.not_http,
        attack_clients.never_read,
        attack_clients.slow_read,
        attack_clients.never_send,
        attack_clients.half_open,
        attack_clients.vanishing,
        attack_floods.flood,
        attack_floods.connects,
        attack_floods.http,
        attack_tools.forged,
        attack_tools.huge_answers,
        attack_tools.endless_lists,
        attack_tools.impostors,
        attack_tools.biting_schemas,
        attack_providers.victim,
        attack_providers.typed,
        attack_providers.device_tool,
        attack_providers.speaker,
        attack_sources.mcp_calls,
        attack_sources.mcp_lists,
        attack_sources.web_calls,
        attack_sources.rest_calls,
        attack_camera.photos,
        attack_workers.server_processes,
    )
}


def _command(attack: Callable[..., Awaitable[Outcome]]) -> Handler:
    async def run(**arguments: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
        return (await attack(**arguments)).to_json()

    return run


async def serve(service_port: int) -> None:
    """Attack as told; beside it the services are there whose tools the server has."""
    service = RogueService()
    await service.start(service_port)
    commands = {name: _command(attack) for name, attack in ATTACKS.items()}
    await serve_commands(commands, {})


def main() -> None:
    """Attack; the argument: the services' port, as JSON."""
    asyncio.run(serve(json.loads(sys.argv[1])["service_port"]))


if __name__ == "__main__":
    main()
