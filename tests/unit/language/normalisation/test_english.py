"""What eSpeak NG reads badly is written as it is read."""

from __future__ import annotations

import pytest

from vixio.language.normalisation.english import spelled


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
        ("$1,234,567", "1,234,567 dollars"),
        ("at 8:05", "at 8 oh 5"),
        ("at 12:30", "at 12 30"),
        ("at 7:00", "at 7 o'clock"),
        ("at 7:00 pm", "at 7 pm"),
        ("2026-11-03", "November third, 20 26"),
        ("2026-13-03", "2026 to 13 to 03"),
        ("10-20 people", "10 to 20 people"),
        ("3.5 km", "3.5 kilometers"),
        ("1 kg", "1 kilogram"),
        ("50km/h", "50 kilometers per hour"),
        ("-3°C", "minus 3 degrees Celsius"),
        ("3/14/2026", "March fourteenth, 20 26"),
        ("14/3/2026", "March fourteenth, 20 26"),
        ("3.11.2026", "November third, 20 26"),
        ("on May 2", "on May second"),
        ("May 2:30", "May 2 30"),
        ("in 2005", "in 2005"),
        ("in 1905", "in 19 oh 5"),
        ("in 1900", "in 19 hundred"),
        ("(1756-1791)", "(17 56 to 17 91)"),
        ("add 1500 grams to 1984", "add 1500 grams to 19 84"),
        ("by 1500 km", "by 1500 kilometers"),
        ("the '90s, the 2000s", "the nineties, the two thousands"),
        ("from 800-1200 calories", "from 800 to 1200 calories"),
        ("call 800-1200", "call eight zero zero, one two zero zero"),
        ("your code is 4821", "your code is four eight two one"),
        ("order 12345678", "order one two three four five six seven eight"),
        ("2000000 people", "2000000 people"),
        ("v1.2, version 3.11", "version 1 point 2, version 3 point 11"),
        ("10.0.0.1", "one zero dot zero dot zero dot one"),
        ("a_b@mail.example.org", "a underscore b at mail dot example dot org"),
        ("3/4, 7/3, 9/11/1", "3 quarters, 7/3, 9/11/1"),
        ("A380, B12, GPT-4", "A three eight zero, B 12, GPT 4"),
        ("a 4K film, 3 kmx, 1:2:3", "a 4K film, 3 kmx, 1:2:3"),
        ("x-ray, twenty-one", "x-ray, twenty-one"),
    ],
)
def test_numbers(text: str, read: str) -> None:
    assert spelled(text) == read
