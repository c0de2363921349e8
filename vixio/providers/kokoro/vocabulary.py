"""The symbols of Kokoro, and their numbers.

From ``config.json`` of Kokoro-82M 1.0 (https://huggingface.co/hexgrad/Kokoro-82M, Apache-2.0).
"""

from __future__ import annotations

from typing import Final

MOST_SYMBOLS: Final = 510
"""In one call: the network's context is 512, and a pad stands at each end."""

PAD: Final = 0

_RUNS: Final[dict[int, str]] = {
    1: ";:,.!?",
    9: '—…"()“” \u0303ʣʥʦʨᵝ\uab67AI',  # \u0303: a tilde above, \uab67: the affricate of zh
    31: "O",
    33: "Q",
    35: "ST",
    39: "W",
    41: "Yᵊabcdef",
    50: "hijklmnopqrstuvwxyzɑɐɒæ",
    75: "βɔɕç",
    80: "ɖðʤə",
    85: "ɚɛɜ",
    90: "ɟ",
    92: "ɡ",
    99: "ɥ",
    101: "ɨɪʝ",
    110: "ɯɰŋɳɲɴø",
    118: "ɸθœ",
    123: "ɹ",
    125: "ɾɻ",
    128: "ʁɽʂʃʈʧ",
    135: "ʊʋ",
    138: "ʌɣɤ",
    142: "χʎ",
    147: "ʒʔ",
    156: "ˈˌː",
    162: "ʰ",
    164: "ʲ",
    169: "↓",
    171: "→↗↘",
    177: "ᵻ",
}
"""Number of the first symbol of each run of consecutive numbers."""

NUMBERS: Final[dict[str, int]] = {
    symbol: first + place for first, run in _RUNS.items() for place, symbol in enumerate(run)
}


def numbers(phonemes: str) -> list[int]:
    """Return the numbers of ``phonemes``; symbols that Kokoro does not know are left out."""
    return [NUMBERS[symbol] for symbol in phonemes if symbol in NUMBERS]
