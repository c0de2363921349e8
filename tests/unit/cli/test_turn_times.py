"""Where the time of a turn went, drawn from fixed marks."""

from __future__ import annotations

import pytest

from vixio.cli.turn_times import chart, response

SPOKEN = {
    "voice_end": -400,
    "turn_end": 0,
    "transcript": 100,
    "first_token": 300,
    "first_sentence": 301,
    "first_audio": 350,
    "speech_start": 340,
    "first_frame": 600,
    "playout_end": 3_000,
}


@pytest.mark.parametrize(
    ("stages", "lines"),
    [
        ({}, []),
        ({"turn_end": 0}, []),
        (
            SPOKEN,
            [
                "end of turn       400 ms  ████████████████",
                "words             100 ms                  ████",
                "first token       200 ms                      ████████",
                "first sentence      1 ms",
                "first audio        49 ms                              ██",
                "first sound       250 ms                                ██████████",
                "in all           1000 ms",
            ],
        ),
        (  # the end of speech is unknown: of typed words, or in an old record
            {"turn_end": 0, "transcript": 50},
            [
                "words              50 ms  ████████████████████████████████████████",
                "in all             50 ms",
            ],
        ),
        (  # of an answer begun in a pause: its words were known before the recogniser's last ones
            {"voice_end": -500, "turn_end": 0, "first_token": 0, "transcript": 1, "first_frame": 1},
            [
                "end of turn       500 ms  ████████████████████████████████████████",
                "words               0 ms",
                "first token         0 ms",
                "first sound         1 ms",
                "in all            501 ms",
            ],
        ),
        (  # a filler is heard before the model has said a word
            {"turn_end": 0, "transcript": 0, "filler": 750, "first_token": 1_600}
            | {"first_frame": 800},
            [
                "words               0 ms",
                "filler            750 ms  ███████████████████",
                "first sound        50 ms                     █",
                "first token       800 ms                      ████████████████████",
                "in all           1600 ms",
            ],
        ),
        (  # what a device sees
            {"voice_end": 0, "transcript": 700, "first_sentence": 750, "first_frame": 1_000},
            [
                "words             700 ms  ████████████████████████████",
                "first sentence     50 ms                              ██",
                "first sound       250 ms                                ██████████",
                "in all           1000 ms",
            ],
        ),
    ],
    ids=["nothing", "no step", "spoken", "typed", "ahead", "filler", "device"],
)
def test_a_line_for_each_step(stages: dict[str, int], lines: list[str]) -> None:
    assert chart(stages) == lines


def test_the_response_is_from_the_end_of_speech_to_the_first_sound() -> None:
    assert response(SPOKEN) == 1_000
    assert response({"turn_end": 0, "first_frame": 600}) is None
    assert response({"voice_end": -400}) is None
