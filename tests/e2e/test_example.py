"""The example in the documentation, unchanged, with a model that speaks the real protocol."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.processes import running
from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.servers import free_ports

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent_with_device_tools.py"
VOLUME = "self_audio_speaker_set_volume"


async def test_the_model_calls_the_devices_tool(tmp_path: Path) -> None:
    port, http_port = free_ports(2)
    async with LLMServer() as llm:
        llm.script(
            calls(Call("call_1", VOLUME, '{"volume": 55}')),
            text("It is at ", "55 now."),
            text("Hello, too."),
        )
        environment = {
            "OPENAI_BASE_URL": llm.base_url,
            "OPENAI_API_KEY": "test",
            "VIXIO_HOST": "127.0.0.1",
            "VIXIO_PORT": str(port),
            "VIXIO_HTTP_PORT": str(http_port),
        }
        async with running((sys.executable, EXAMPLE), tmp_path, environment) as server:
            assert f":{http_port}/xiaozhi/ota/" in await server.line("OTA URL")
            ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
            async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
                await device.wait_for_frame(
                    "mcp",
                    direction="out",
                    where=lambda frame: "tools" in (frame.body or {})["payload"].get("result", {}),
                )
                await device.ping()  # whatever was sent before it has been read
                reply = await device.type_text("a bit louder please")
                assert device.volume == 55
                assert reply.text == "It is at 55 now."
                assert reply.heard.rms > 500
                assert device.violations == []
                async with SimulatedDevice(DeviceConfig(ota_url=ota)) as other:
                    assert (await other.type_text("hello")).text == "Hello, too."
                assert llm.connections == 1, "sessions share the client of the model"
            await server.stop(signal.SIGINT)
            assert server.process.returncode == 0
        assert "Traceback" not in "".join(server.out + server.err)
        first, second, _ = llm.requests
        offered = {tool["function"]["name"] for tool in first["tools"]}
        assert {VOLUME, "get_weather", "get_time", "get_date"} <= offered
        assert second["messages"][-1]["role"] == "tool"
        assert llm.keys[0].lower() == "bearer test"
