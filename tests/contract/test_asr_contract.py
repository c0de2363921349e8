"""All ears of the table keep the contract: what that is, the suite itself says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.contract.ears import ASRS, Ears
from vixio.providers.asr import ASRProvider
from vixio.testing.contract import ASRContract
from vixio.testing.contract.asr import ASRCreator, Mishap
from vixio.testing.contract.base import Creator


class TestASR(ASRContract):
    @pytest.fixture(params=sorted(ASRS))
    def ears(self, request: pytest.FixtureRequest) -> Ears:
        return ASRS[request.param]

    @pytest.fixture
    def creator(self, ears: Ears) -> Creator[ASRProvider]:
        return lambda: ears.create(None)

    @pytest.fixture
    def mishap_creator(self, ears: Ears) -> ASRCreator:
        return ears.create

    @pytest.fixture
    def told(self, ears: Ears) -> bool:
        return ears.hears

    @pytest.fixture
    def possible_mishaps(self, ears: Ears) -> Sequence[Mishap]:
        return ears.mishaps
