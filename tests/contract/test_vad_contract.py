"""Every detector of the table keeps the contract: what that is, the suite itself says."""

from __future__ import annotations

import pytest

from vixio.providers.vad import VADProvider
from vixio.testing.contract import VADContract
from vixio.testing.contract.base import Creator


class TestVAD(VADContract):
    @pytest.fixture
    def creator(self, vad_creator: Creator[VADProvider]) -> Creator[VADProvider]:
        return vad_creator
