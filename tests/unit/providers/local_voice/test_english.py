"""What eSpeak NG reads badly is written as it is read."""

from __future__ import annotations

import pytest

from vixio.providers.local_voice.english import spelled


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("It costs $5.50.", "It costs 5 dollars and 50 cents."),
        ("$1", "1 dollar"),
        ("$1.01", "1 dollar and 1 cent"),
        ("$5.00", "5 dollars"),
        ("£3.20", "3 pounds and 20 pence"),
        ("€2.5 million", "2.5 million euros"),
        ("¥300", "300 yen"),
        ("$1,234,567", "1234567 dollars"),
        ("at 8:05", "at 8 oh 5"),
        ("at 12:30", "at 12 30"),
        ("at 7:00", "at 7 o'clock"),
        ("at 7:00 pm", "at 7 pm"),
        ("2026-11-03", "November 3, 2026"),
        ("2026-13-03", "2026 to 13 to 03"),
        ("10-20 people", "10 to 20 people"),
        ("3.5 km", "3.5 kilometers"),
        ("1 kg", "1 kilogram"),
        ("50km/h", "50 kilometers per hour"),
        ("-3°C", "-3 degrees Celsius"),
        ("a 4K film, 3 kmx, 1:2:3", "a 4K film, 3 kmx, 1:2:3"),
        ("x-ray, twenty-one", "x-ray, twenty-one"),
    ],
)
def test_numbers(text: str, read: str) -> None:
    assert spelled(text) == read
