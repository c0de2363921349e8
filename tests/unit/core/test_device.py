"""Device ids have one spelling, however a device writes its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.device import (
    Device,
    DeviceProfile,
    normalise_device_id,
    normalise_device_pattern,
)

MAC = "aa:bb:cc:dd:ee:0f"


@pytest.mark.parametrize(
    ("raw", "normalised"),
    [
        ("aa:bb:cc:dd:ee:0f", MAC),
        ("AA:BB:CC:DD:EE:0F", MAC),
        ("aa-bb-cc-dd-ee-0f", MAC),
        ("AABBCCDDEE0F", MAC),
        ("aabb.ccdd.ee0f", MAC),
        ("  Aa:bB:cc:dd:ee:0f\t", MAC),
        ("aa:bb-cc:dd:ee:0f", "aa:bb-cc:dd:ee:0f"),
        ("aa:bb:cc:dd:ee", "aa:bb:cc:dd:ee"),
        ("aa:bb:cc:dd:ee:0g", "aa:bb:cc:dd:ee:0g"),
        ("aabb.ccddee0f", "aabb.ccddee0f"),
        ("Kitchen Box", "kitchen box"),
        ("550E8400-E29B-41D4-A716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
        ("设备-A", "设备-a"),
        ("", ""),
    ],
)
def test_spellings(raw: str, normalised: str) -> None:
    assert normalise_device_id(raw) == normalised


@given(st.text())
def test_normalising_twice_changes_nothing(raw: str) -> None:
    once = normalise_device_id(raw)
    assert normalise_device_id(once) == once


@given(
    st.binary(min_size=6, max_size=6),
    st.sampled_from(["", ":", "-"]),
    st.booleans(),
)
def test_every_notation_of_a_mac_is_the_same_device(
    octets: bytes, separator: str, upper: bool
) -> None:
    written = separator.join(f"{octet:02x}" for octet in octets)
    assert normalise_device_id(written.upper() if upper else written) == octets.hex(":")


@pytest.mark.parametrize(
    ("pattern", "normalised"),
    [
        ("AABBCCDDEE0F", MAC),
        ("AA-BB-*", "aa:bb:*"),
        ("aa:bb:?c:*", "aa:bb:?c:*"),
        ("kitchen-*", "kitchen-*"),
        ("*", "*"),
        ("client:AB-*", "client:ab-*"),
    ],
)
def test_patterns_are_spelled_as_ids(pattern: str, normalised: str) -> None:
    assert normalise_device_pattern(pattern) == normalised


def test_devices_and_profiles_are_values() -> None:
    assert Device("a") == Device("a", features=frozenset())
    assert len({DeviceProfile(language="zh"), DeviceProfile(language="zh"), DeviceProfile()}) == 2
