from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.data.devices.firmware.offer import (
    MAX_FAILURES,
    History,
    Offer,
    Release,
    Stated,
    choose,
    is_for,
)
from vixio.data.devices.firmware.versions import is_newer, is_version, numbers

DEVICE = Stated(
    device_id="aa:bb:cc:00:00:01",
    board="a-board",
    chip="esp32s3",
    version="2.4.1",
    elf_sha256="old",
)


def release(
    number: int = 1,
    version: str = "2.4.2",
    **changes: Any,  # noqa: ANN401  fields of any type
) -> Release:
    known = Release(
        id=number,
        board="a-board",
        version=version,
        chip="esp32s3",
        sha256=f"sha of {version}",
        elf_sha256=f"elf of {version}",
        size=3_000_000,
        percent=100.0,
    )
    return replace(known, **changes)


def chosen(
    *releases: Release,
    history: History | None = None,
    **device: Any,  # noqa: ANN401  fields of any type
) -> object:
    stated = replace(DEVICE, **device)
    return choose(stated, releases, history or History())


@pytest.mark.parametrize(
    ("version", "than", "newer"),
    [
        ("2.4.2", "2.4.1", True),
        ("2.4.10", "2.4.9", True),
        ("2.5", "2.4.9", True),
        ("2.4.2", "2.4.2", False),
        ("2.4", "2.4.2", False),
        ("2.4.2.0", "2.4.2", True),
        ("1.9.9", "2.0.0", False),
        ("02.4.2", "2.4.2", False),
    ],
)
def test_versions_are_compared_as_the_firmware_does(version: str, than: str, newer: bool) -> None:
    assert is_newer(version, than) is newer


@given(st.text(max_size=20))
def test_what_is_no_version_is_not_compared(text: str) -> None:
    if not is_version(text):
        with pytest.raises(ValueError, match="is not a version"):
            numbers(text)
    else:
        assert not is_newer(text, text)


def test_a_newer_release_is_offered() -> None:
    assert chosen(release()) == Offer(release())
    assert chosen() is None
    assert chosen(release(version="2.4.1")) is None
    assert chosen(release(version="2.3.9")) is None


def test_of_several_the_newest_is_offered() -> None:
    releases = [release(1, "2.4.9"), release(2, "2.4.10"), release(3, "2.4.3")]
    assert chosen(*releases) == Offer(releases[1])


@pytest.mark.parametrize(
    "device",
    [
        {"board": "another-board"},
        {"board": ""},
        {"chip": "esp32c3"},
        {"chip": ""},
        {"version": ""},
        {"version": "unknown"},
        {"room": 2_999_999},
    ],
)
@pytest.mark.parametrize("forced", [False, True])
def test_an_image_that_may_not_fit_is_not_offered(device: dict[str, Any], forced: bool) -> None:
    assert chosen(release(forced=forced), **device) is None


def test_an_image_that_just_fits_is_offered() -> None:
    assert chosen(release(), room=3_000_000) == Offer(release())


def test_a_paused_release_is_not_offered() -> None:
    assert chosen(release(paused=True)) is None
    assert chosen(release(paused=True, forced=True, version="2.0")) is None


def test_a_release_for_single_devices_is_for_them() -> None:
    for_one = release(percent=0.0, devices=frozenset({DEVICE.device_id}))
    assert chosen(for_one) == Offer(for_one)
    assert chosen(for_one, device_id="aa:bb:cc:00:00:02") is None


def test_a_percentage_is_of_the_devices_and_grows_by_further_ones() -> None:
    devices = [replace(DEVICE, device_id=f"aa:bb:cc:00:{n // 256:02x}:{n % 256:02x}")
               for n in range(2_000)]  # fmt: skip
    parts = [
        {each.device_id for each in devices if is_for(each, release(percent=percent))}
        for percent in (0, 5, 20, 50, 99.5, 100)
    ]
    for smaller, larger in pairwise(parts):
        assert smaller < larger
    assert len(parts[0]) == 0
    assert 60 <= len(parts[1]) <= 140
    assert 900 <= len(parts[3]) <= 1_100
    assert len(parts[5]) == 2_000
    # Another version begins with other devices.
    others = {each.device_id for each in devices if is_for(each, release(1, "2.4.3", percent=50.0))}
    assert others != parts[3]


def test_an_image_that_failed_too_often_is_not_offered_again() -> None:
    older = release(1, "2.4.2")
    newer = release(2, "2.4.3")
    failed = History(failures={newer.sha256: MAX_FAILURES - 1})
    assert chosen(older, newer, history=failed) == Offer(newer)
    failed = History(failures={newer.sha256: MAX_FAILURES})
    assert chosen(older, newer, history=failed) == Offer(older)
    assert chosen(newer, history=failed) is None
    assert chosen(replace(newer, id=9), history=failed) is None


def test_a_forced_release_is_offered_once_whatever_its_version() -> None:
    back = release(7, "2.3.0", forced=True)
    assert chosen(back) == Offer(back, force=True)
    assert chosen(back, history=History(forced=7)) is None
    assert chosen(back, history=History(forced=7, failures={back.sha256: 1})) is None
    again = release(8, "2.3.0", forced=True)
    assert chosen(again, history=History(forced=7)) == Offer(again, force=True)


def test_a_forced_release_that_is_newer_needs_no_force() -> None:
    forward = release(7, "2.5.0", forced=True)
    assert chosen(forward) == Offer(forward)
    assert chosen(forward, history=History(failures={forward.sha256: MAX_FAILURES})) is None


def test_a_device_with_this_very_build_is_not_forced() -> None:
    same = release(7, DEVICE.version, forced=True)
    assert chosen(same) == Offer(same, force=True)  # another build of the same version
    assert chosen(same, elf_sha256=same.elf_sha256) is None


def test_a_forced_release_holds_until_the_next_one() -> None:
    newest, back = release(1, "2.5.0"), release(2, "2.3.0", forced=True)
    assert chosen(newest, back) == Offer(back, force=True)
    pinned = History(forced=2)
    assert chosen(newest, back, version="2.3.0", history=pinned) is None
    assert chosen(newest, version="2.3.0", history=pinned) is None  # and when it is removed
    later = release(3, "2.5.1")
    assert chosen(newest, back, later, version="2.3.0", history=pinned) == Offer(later)


def test_a_forced_release_for_one_device_does_not_pin_the_others() -> None:
    newest = release(1, "2.5.0")
    back = release(2, "2.3.0", forced=True, percent=0.0, devices=frozenset({"aa:bb:cc:00:00:09"}))
    assert chosen(newest, back) == Offer(newest)


@given(
    st.lists(
        st.builds(
            release,
            st.integers(1, 9),
            st.sampled_from(["1.0", "2.4.1", "2.4.2", "3.0"]),
            forced=st.booleans(),
            paused=st.booleans(),
            percent=st.sampled_from([0.0, 50.0, 100.0]),
        ),
        max_size=6,
        unique_by=lambda each: each.id,
    )
)
def test_following_every_offer_ends(releases: list[Release]) -> None:
    """A device that installs whatever it is offered comes to rest."""
    device, history = DEVICE, History()
    for _ in range(2 * len(releases) + 1):
        offer = choose(device, releases, history)
        if offer is None:
            return
        device = replace(device, version=offer.release.version, elf_sha256=offer.release.elf_sha256)
        if offer.force:
            history = History(forced=offer.release.id)
    pytest.fail("the offers go on")
