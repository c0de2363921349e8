"""A voice assistant with a pipeline of its own: local tools at once, the device's once listed.

Run it with a key of any OpenAI-compatible service::

    OPENAI_API_KEY=... python examples/agent_with_device_tools.py
    OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_API_KEY=none OPENAI_MODEL=qwen3 python ...

and point a device at the OTA URL that it prints. Speech stays on this machine (Silero VAD,
PocketSphinx, eSpeak NG). PocketSphinx recognises the phrase book only: for free speech use another
ASRProvider.
"""

from __future__ import annotations

import asyncio
import os

from vixio.core.host import SessionHost
from vixio.core.pipeline import Pipeline
from vixio.core.tools.local import BUILTIN_LOCAL_TOOLS
from vixio.core.tools.types import ToolDefinition
from vixio.core.transport import TransportBase
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.providers.openai_agent.backend import OpenAIAgentBackend
from vixio.providers.openai_agent.provider import OpenAIAgentProvider
from vixio.providers.openai_agent.settings import OpenAIAgentSettings
from vixio.providers.openai_agent.tools import OpenAIAgentToolConverter
from vixio.providers.pocketsphinx.provider import PocketSphinxASRProvider
from vixio.providers.silero_vad.provider import SileroVADProvider
from vixio.stations.agent import AgentStation
from vixio.stations.asr import ASRStation
from vixio.stations.sentence_aggregator import SentenceAggregatorStation
from vixio.stations.text_aggregator import TextAggregatorStation
from vixio.stations.tts import TTSStation
from vixio.stations.turn_detector import TurnDetectorStation
from vixio.stations.vad import VADStation
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.transport import XiaozhiTransport
from vixio.web.http.app import create_http_app
from vixio.web.http.ota import OtaSettings
from vixio.web.http.server import HttpServer

# Models and connections are shared by all devices; each session holds only its own state.
vad_provider = SileroVADProvider()
asr_provider = PocketSphinxASRProvider()
tts_provider = EspeakTTSProvider()
agent_backend = OpenAIAgentBackend(
    OpenAIAgentSettings.model_validate(
        {
            "api_key": os.getenv("OPENAI_API_KEY"),
            "base_url": os.getenv("OPENAI_BASE_URL"),
            "model": os.getenv("OPENAI_MODEL", "gpt-4.1-mini"),
        }
    )
)


async def get_weather(city: str) -> str:
    """Get the weather for a city."""
    return f"{city}: Sunny, 25°C"


async def create_pipeline(transport: TransportBase, session_id: str) -> Pipeline:
    """Create the pipeline of one session, with tool support."""
    # 1. Create tool converter
    converter = OpenAIAgentToolConverter()

    # 2. Convert local tools (available immediately)
    local_tools = [converter.convert_local_tool(func) for func in BUILTIN_LOCAL_TOOLS]

    # 3. Add custom local tools
    local_tools.append(converter.convert_local_tool(get_weather))

    # 4. Create Agent with local tools only (device tools not ready yet)
    agent_provider = OpenAIAgentProvider(backend=agent_backend)
    await agent_provider.initialize(
        tools=local_tools,
        system_prompt="You are a helpful assistant. Answer in one or two short sentences.",
    )

    # 5. Register callback for when device tools become ready
    async def on_device_tools_ready(tool_defs: list[ToolDefinition]) -> None:
        """Called by the transport when the device's tools are fetched, and when they change."""
        device_tools = converter.convert_device_tools(tool_defs)
        await agent_provider.update_tools(device_tools)

    transport.set_device_tools_callback(session_id, on_device_tools_ready)

    # 6. Create pipeline
    stations = [
        VADStation(vad_provider),
        TurnDetectorStation(),
        ASRStation(asr_provider),
        TextAggregatorStation(),
        AgentStation(agent_provider),
        SentenceAggregatorStation(),
        TTSStation(tts_provider),
    ]

    return Pipeline(stations=stations)


async def main() -> None:
    """Serve devices until interrupted."""
    host = os.getenv("VIXIO_HOST", "0.0.0.0")  # noqa: S104 - devices are on the network
    transport = XiaozhiTransport(
        XiaozhiSettings(host=host, port=int(os.getenv("VIXIO_PORT", "8000")))
    )
    sessions = SessionHost(transport, create_pipeline)
    providers = (vad_provider, asr_provider, tts_provider, agent_backend)
    await asyncio.gather(*(provider.start() for provider in providers))
    await sessions.start()
    http = HttpServer(
        create_http_app(OtaSettings(websocket_port=transport.port), sessions.stats),
        host,
        int(os.getenv("VIXIO_HTTP_PORT", "8003")),
    )
    await http.start()
    print(f"OTA URL: http://<this machine>:{http.port}/xiaozhi/ota/", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await sessions.stop()
        await http.stop()
        await asyncio.gather(*(provider.close() for provider in providers))


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        print("stopped")
