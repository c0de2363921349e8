"""Every vision provider passes the contract suite."""

from __future__ import annotations

import pytest

from vixio.providers.vision import VisionProvider
from vixio.testing.contract import VisionContract
from vixio.testing.contract.base import Creator


class TestVision(VisionContract):
    @pytest.fixture
    def creator(self, vision_creator: Creator[VisionProvider]) -> Creator[VisionProvider]:
        return vision_creator
