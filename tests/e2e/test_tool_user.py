"""A tool knows the user of the device that it is called for."""

from __future__ import annotations

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.harness import serving, settings
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.source import FixedSource
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD, ToolUse
from vixio.tools import ToolContext

ANNS = "02:00:00:00:00:0a"


@pytest.mark.parametrize(("device_id", "user"), [(ANNS, "Ann"), ("02:00:00:00:00:0b", "Ben")])
async def test_the_configured_user_is_in_the_context(device_id: str, user: str) -> None:
    users: list[str] = []

    async def greet(context: ToolContext) -> str:
        """Greet the user."""
        users.append(context.user)
        return f"Hello {context.user}"

    config = settings(assistant={"user_name": "Ben"}, devices={ANNS: {"user": "Ann"}})
    async with (
        serving(
            config,
            vad=ScriptedVAD(),
            asr=ScriptedASR(),
            agent=ScriptedAgentBackend(lambda _: (ToolUse("greet", {}), "Done.")),
            tts=ScriptedTTS(),
            tool_sources=[FixedSource("house", [func_to_tool_definition(greet)])],
        ) as server,
        SimulatedDevice(server.device(device_id=device_id)) as device,
    ):
        await device.type_text("greet me")
        assert users == [user]
