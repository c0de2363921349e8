"""The recognisers that need no download pass the contract."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.contract.recognisers import ASRS, RecogniserCase
from vixio.providers.asr import ASRProvider
from vixio.testing.contract import ASRContract
from vixio.testing.contract.asr import ASRCreator, Mishap
from vixio.testing.contract.base import Creator


class TestASR(ASRContract):
    @pytest.fixture(params=sorted(ASRS))
    def case(self, request: pytest.FixtureRequest) -> RecogniserCase:
        return ASRS[request.param]

    @pytest.fixture
    def creator(self, case: RecogniserCase) -> Creator[ASRProvider]:
        return lambda: case.create(None)

    @pytest.fixture
    def mishap_creator(self, case: RecogniserCase) -> ASRCreator:
        return case.create

    @pytest.fixture
    def words_expected(self, case: RecogniserCase) -> bool:
        return case.finds_words

    @pytest.fixture
    def possible_mishaps(self, case: RecogniserCase) -> Sequence[Mishap]:
        return case.mishaps
