"""Several servers for one provider in a list: who is asked, in which order, for how long."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.errors import ProviderError
from vixio.providers.fallback.availability import Place
from vixio.providers.fallback.candidates import Candidates
from vixio.providers.fallback.time_shares import equal_share, sharing

BROKEN = ProviderError("p", "out of order", reason="service")


class Plain:
    def __init__(self, name: str) -> None:
        self.name = name

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass


async def _started(*places: tuple[str, Place]) -> Candidates[Plain]:
    providers = [Plain(name) for name, _ in places]
    candidates = Candidates("asr", providers, places=[place for _, place in places])
    await candidates.start()
    return candidates


ONE, TWO = ("a", Place(0, "one:1")), ("a", Place(0, "two:2"))


def _servers(candidates: Candidates[Plain]) -> list[str]:
    return [each.availability.place.server or each.name for each in candidates.plan()]


async def test_work_is_shared_by_what_each_has_to_do() -> None:
    candidates = await _started(ONE, TWO, ("b", Place(1)))
    assert candidates.name == "a, b"
    given: dict[str, int] = {}
    attempts = []
    for _ in range(10):
        candidate = candidates.plan()[0]
        attempts.append(candidates.attempt(candidate))
        server = candidate.availability.place.server
        given[server] = given.get(server, 0) + 1
    assert given == {"one:1": 5, "two:2": 5}
    for attempt in attempts[::2]:  # all of the first one's
        attempt.worked()
        attempt.over()
    assert [state.get("pending") for state in candidates.stats()] == [0, 5, None]
    assert [_servers(candidates)[0] for _ in range(3)] == ["one:1"] * 3
    await candidates.close()


async def test_one_that_failed_is_passed_over_and_then_the_next_group() -> None:
    candidates = await _started(ONE, TWO, ("b", Place(1)))
    assert _servers(candidates) == ["one:1", "two:2", "b"]
    candidates.attempt(candidates.plan()[0]).failed(BROKEN)
    assert _servers(candidates) == ["two:2", "b"]
    candidates.attempt(candidates.plan()[0]).failed(BROKEN)
    assert _servers(candidates) == ["b"]
    candidates.attempt(candidates.plan()[0]).failed(BROKEN)
    assert _servers(candidates) == ["one:1", "two:2", "b"]  # rather than none
    assert [state["server"] for state in candidates.stats()[:2]] == ["one:1", "two:2"]
    assert all(state["pending"] == 0 for state in candidates.stats()[:2])
    await candidates.close()


async def test_servers_of_one_provider_have_one_label() -> None:
    candidates = await _started(ONE, TWO, ("a", Place(1)), ("b", Place(2)))
    labels = [candidates.label(each) for each in candidates.all]
    assert labels == ["a[0]", "a[0]", "a[1]", "b"]
    await candidates.close()


@pytest.mark.parametrize(
    ("groups", "positions"),
    [([0, 0, 0, 0], [0, 1]), ([0, 1, 2], [0, 1, 2]), ([0, 0, 0, 1], [0, 1, 3]), ([3], [0])],
)
def test_time_is_reserved_for_two_of_a_group(groups: list[int], positions: list[int]) -> None:
    assert sharing(groups) == positions


def test_ten_servers_have_half_of_the_time_each_time() -> None:
    assert equal_share(8.0, 8.0, [0] * 10) == 4.0
    assert equal_share(8.0, 4.0, [0] * 9) == 2.0
    assert equal_share(8.0, 4.0, [0]) == 4.0


async def test_closing_ends_the_watch() -> None:
    class Asked(Plain):
        async def verify(self) -> bool:
            raise BROKEN

    candidates = Candidates("asr", [Asked("a"), Asked("a")], places=[ONE[1], TWO[1]])
    await candidates.start()
    before = len(asyncio.all_tasks())
    under_way = candidates.attempt(candidates.all[1])
    candidates.attempt(candidates.all[0]).failed(BROKEN)
    assert len(asyncio.all_tasks()) == before + 1
    await candidates.close()
    under_way.failed(BROKEN)  # as its provider is closed
    assert len(asyncio.all_tasks()) == before
