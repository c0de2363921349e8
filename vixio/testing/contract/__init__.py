"""What every provider of a kind does, as tests: for Vixio's own and for those of third parties.

A package that brings a voice shows that it is one with a test of four lines::

    from vixio.testing.contract import TTSContract

    class TestAcme(TTSContract):
        @asynccontextmanager
        async def create(self) -> AsyncIterator[TTSProvider]:
            yield AcmeTTSProvider(AcmeSettings())

They need pytest and pytest-asyncio, and ask for nothing in the settings of either.
"""

import pytest

# Before their import: a failing assertion then shows its values, as in a test of one's own.
pytest.register_assert_rewrite(
    "vixio.testing.contract.agent",
    "vixio.testing.contract.asr",
    "vixio.testing.contract.tool_source",
    "vixio.testing.contract.tts",
    "vixio.testing.contract.vad",
    "vixio.testing.contract.vision",
)

from vixio.testing.contract.agent import AgentBench, AgentContract  # noqa: E402 - see above
from vixio.testing.contract.asr import ASRContract  # noqa: E402 - see above
from vixio.testing.contract.base import ProviderContract  # noqa: E402 - see above
from vixio.testing.contract.tool_source import ToolSourceContract  # noqa: E402
from vixio.testing.contract.tts import TTSContract  # noqa: E402
from vixio.testing.contract.vad import VADContract  # noqa: E402
from vixio.testing.contract.vision import VisionContract  # noqa: E402

__all__ = [
    "ASRContract",
    "AgentBench",
    "AgentContract",
    "ProviderContract",
    "TTSContract",
    "ToolSourceContract",
    "VADContract",
    "VisionContract",
]
