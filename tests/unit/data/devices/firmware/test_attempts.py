from __future__ import annotations

from dataclasses import replace

import pytest

from vixio.data.devices.firmware.attempts import Attempt, AttemptState, history, settle
from vixio.data.devices.firmware.offer import Stated

ATTEMPT = Attempt(
    id=1,
    device_id="aa:bb:cc:00:00:01",
    release_id=7,
    board="a-board",
    version="2.4.2",
    sha256="sha",
    elf_sha256="new elf",
    from_version="2.4.1",
    forced=False,
    size=3_000,
    offered_at=1_000,
)

REJECTED = "it did not take the image, or the image did not start"


def device(version: str, elf_sha256: str = "old elf") -> Stated:
    return Stated(
        device_id=ATTEMPT.device_id,
        board="a-board",
        chip="esp32s3",
        version=version,
        elf_sha256=elf_sha256,
    )


@pytest.mark.parametrize("state", [*AttemptState])
def test_a_device_that_comes_back_with_the_version_has_installed_it(state: AttemptState) -> None:
    ended = settle(replace(ATTEMPT, state=state, reason="?"), device("2.4.2"), 9_000)
    assert ended == replace(ATTEMPT, state=AttemptState.INSTALLED, ended_at=9_000)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (AttemptState.OFFERED, "the device did not begin to download"),
        (AttemptState.DOWNLOADING, "the download broke off after 1000 of 3000 bytes"),
        (
            AttemptState.DOWNLOADED,
            f"the device came back with 2.4.1: {REJECTED}",
        ),
    ],
)
def test_a_device_that_comes_back_as_before_has_failed(state: AttemptState, reason: str) -> None:
    ended = settle(replace(ATTEMPT, state=state, sent=1_000), device("2.4.1"), 9_000)
    assert ended is not None
    assert (ended.state, ended.reason, ended.ended_at) == (AttemptState.FAILED, reason, 9_000)


@pytest.mark.parametrize("state", [AttemptState.FAILED, AttemptState.POSTPONED])
def test_a_reason_that_is_known_stays(state: AttemptState) -> None:
    attempt = replace(ATTEMPT, state=state, reason="known")
    assert settle(attempt, device("2.4.1"), 9_000) == replace(attempt, ended_at=9_000)


def test_an_attempt_ends_once() -> None:
    ended = replace(ATTEMPT, state=AttemptState.FAILED, ended_at=2_000)
    assert settle(ended, device("2.4.2"), 9_000) is None


def test_of_two_builds_of_one_version_the_elf_file_tells() -> None:
    again = replace(ATTEMPT, from_version="2.4.2", forced=True, state=AttemptState.DOWNLOADED)
    same, other = (settle(again, device("2.4.2", elf), 9) for elf in ("new elf", "old elf"))
    assert same is not None
    assert other is not None
    assert (same.state, other.state) == (AttemptState.INSTALLED, AttemptState.FAILED)


def failed(number: int, sha256: str = "sha", **changes: object) -> Attempt:
    known = replace(ATTEMPT, id=number, sha256=sha256, state=AttemptState.FAILED)
    return replace(known, **changes)  # type: ignore[arg-type]  # fields by name


def test_failures_in_a_row_are_counted_by_image() -> None:
    attempts = [
        failed(6),
        failed(5, "other"),
        failed(4, state=AttemptState.POSTPONED),
        failed(3),
        failed(2, state=AttemptState.INSTALLED),
        failed(1),
    ]
    assert history(attempts, {}).failures == {"sha": 2, "other": 1}
    assert history([], {}).failures == {}


def test_failures_before_a_release_that_tries_again_do_not_count() -> None:
    attempts = [failed(3, offered_at=3_000), failed(2, offered_at=2_000), failed(1)]
    assert history(attempts, {"sha": 2_500}).failures == {"sha": 1}
    assert history(attempts, {"sha": 3_001}).failures == {}


def test_the_last_release_with_force_is_known() -> None:
    attempts = [failed(3, release_id=8), failed(2, release_id=6, forced=True)]
    assert history(attempts, {}).forced == 6
    assert history([failed(1)], {}).forced == 0
