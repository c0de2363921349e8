"""Every voice of the table keeps the contract: what that is, the suite itself says."""

from __future__ import annotations

import pytest

from vixio.providers.tts import TTSProvider
from vixio.testing.contract import TTSContract
from vixio.testing.contract.base import Creator


class TestTTS(TTSContract):
    @pytest.fixture
    def creator(self, tts_creator: Creator[TTSProvider]) -> Creator[TTSProvider]:
        return tts_creator
