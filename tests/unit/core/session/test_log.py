"""The lines of a session: fields with types, and no words unless they are asked for."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from vixio.core.device import Device
from vixio.core.metrics import Counters, ModelUse, ToolTiming, TurnTimeline
from vixio.core.session import log as session_log
from vixio.core.session.events import (
    Event,
    Failure,
    FinalTranscript,
    SessionClosed,
    SessionOpened,
    SpeechInterrupted,
    SpeechPlayed,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from vixio.core.session.log import SessionLog, WordsLog
from vixio.telemetry.logging.fields import fields_of

IDS = {"device": "aa", "session": "s"}
WORDS = "marmalade"


@pytest.fixture(autouse=True)
def _all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, session_log.__name__)


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    return [(record.getMessage(), fields_of(record)) for record in caplog.records]


def turn(turn_id: int, outcome: str, timeline: TurnTimeline | None = None) -> TurnEnded:
    record = timeline or TurnTimeline(turn_id)
    record.outcome = outcome
    return TurnEnded("aa", "s", 2.0, turn_id, record)


def spoken() -> list[Event]:
    """Everything that carries words."""
    return [
        FinalTranscript("aa", "s", 1.0, 1, WORDS, True),
        TurnStarted("aa", "s", 1.0, 1, WORDS),
        ToolStarted("aa", "s", 1.0, 1, "c", "get_time", f'{{"zone": "{WORDS}"}}'),
        ToolEnded("aa", "s", 1.0, 1, "c", "get_time", WORDS, True, 0.1),
        SpeechPlayed("aa", "s", 1.0, 1, WORDS),
        SpeechInterrupted("aa", "s", 1.0, 2, WORDS, "abort"),
        turn(1, f"interrupted:I want {WORDS}"),
    ]


def test_connecting_and_disconnecting(caplog: pytest.LogCaptureFixture) -> None:
    log = SessionLog(Counters())
    device = Device(
        "aa",
        address="192.0.2.7",
        features=frozenset({"mcp", "aec"}),
        transport="websocket",
        protocol="3",
        board="esp-box-3",
        firmware="2.0.1",
    )
    log(SessionOpened("aa", "s", 0.0, device))
    log(turn(1, "answered"))
    log(turn(2, "not_understood"))
    log(SessionClosed("aa", "s", 9.0, 61.26, "the device is gone"))
    first, *_, last = lines(caplog)
    known = {
        "address": "192.0.2.7",
        "transport": "websocket",
        "protocol": "3",
        "board": "esp-box-3",
        "firmware": "2.0.1",
        "features": ["aec", "mcp"],
    }
    assert first == ("device connected", {**IDS, **known})
    end = {"reason": "the device is gone", "seconds": 61.3, "turns": 2}
    assert last == ("device disconnected", {**IDS, **end})


def test_nothing_is_invented_of_a_silent_device(caplog: pytest.LogCaptureFixture) -> None:
    log = SessionLog(Counters())
    log(SessionOpened("aa", "s", 0.0, Device("aa")))
    log(SessionOpened("aa", "t", 0.0))
    assert [fields for _, fields in lines(caplog)] == [IDS, {**IDS, "session": "t"}]


def test_a_turn_has_numbers_and_names(caplog: pytest.LogCaptureFixture) -> None:
    log = SessionLog(Counters())
    log(
        turn(
            4,
            "answered",
            TurnTimeline(
                4,
                {"voice_end": 9.5, "turn_end": 10.0, "first_token": 10.4, "first_frame": 10.81},
                [
                    ToolTiming("get_time", 0.0123, True, at=10.4123),
                    ToolTiming("lamp", 2.0, False, at=12.5),
                ],
                [ModelUse("openai/m", 100, 20, 50), ModelUse("openai/m", 10, 5)],
                heard_ms=2_400,
            ),
        )
    )
    assert lines(caplog) == [
        (
            "turn ended",
            {
                **IDS,
                "turn": 4,
                "outcome": "answered",
                "voice_end_ms": -500,
                "turn_end_ms": 0,
                "first_token_ms": 400,
                "first_frame_ms": 810,
                "heard_ms": 2_400,
                "tools": ["get_time", "lamp"],
                "tools_ms": [12, 2_000],
                "calls_ms": [400, 500],
                "tools_failed": ["lamp"],
                "models": ["openai/m"],
                "rounds": 2,
                "tokens_in": 110,
                "tokens_out": 25,
                "tokens_cached": 50,
            },
        )
    ]


def test_a_failed_turn_names_its_error(caplog: pytest.LogCaptureFixture) -> None:
    log = SessionLog(Counters())
    log(SessionOpened("aa", "s", 0.0))
    log(Failure("aa", "s", 1.0, 1, "tts", "request", "one sentence", partial=True))
    log(turn(1, "answered"))
    log(Failure("aa", "s", 1.0, 2, "reply", "auth", "openai: the key is refused"))
    log(turn(2, "failed:failed"))
    log(turn(3, "answered"))
    ended = [fields for message, fields in lines(caplog) if message == "turn ended"]
    assert [(one["turn"], one.get("error")) for one in ended] == [
        (1, None),
        (2, "openai: the key is refused"),
        (3, None),
    ]
    failed = next(fields for message, fields in lines(caplog) if message == "turn failed")
    assert failed == {
        **IDS,
        "turn": 2,
        "stage": "reply",
        "reason": "auth",
        "detail": "openai: the key is refused",
    }


@pytest.mark.parametrize(
    ("outcome", "fields"),
    [
        ("interrupted:wake_word_detected", ("interrupted", "wake_word_detected")),
        ("interrupted:voice", ("interrupted", "voice")),
        (f"interrupted:I want {WORDS}", ("interrupted", "other")),
        ("interrupted:" + 41 * "x", ("interrupted", "other")),
        ("answered", ("answered", None)),
        ("", ("unfinished", None)),
    ],
)
def test_the_cause_of_an_interruption_is_one_word(
    caplog: pytest.LogCaptureFixture, outcome: str, fields: tuple[str, str | None]
) -> None:
    SessionLog(Counters())(turn(1, outcome))
    ((_, found),) = lines(caplog)
    assert (found["outcome"], found.get("cause")) == fields


def test_no_words_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    log = SessionLog(Counters())
    for event in spoken():
        log(event)
    assert [message for message, _ in lines(caplog)] == ["turn ended"]
    assert WORDS not in str(lines(caplog))


def test_words_are_logged_where_they_are_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    log = WordsLog()
    for event in spoken():
        log(event)
    log(FinalTranscript("aa", "s", 1.0, 3, "", False))
    assert lines(caplog) == [
        ("user said", {**IDS, "turn": 1, "text": WORDS}),
        ("assistant said", {**IDS, "turn": 1, "text": WORDS}),
        ("assistant said", {**IDS, "turn": 2, "text": WORDS, "cut": True}),
        ("user not understood", {**IDS, "turn": 3}),
    ]


def test_sessions_that_are_over_are_forgotten() -> None:
    log = SessionLog(Counters())
    for number in range(100):
        log(SessionOpened("aa", str(number), 0.0))
        log(Failure("aa", str(number), 1.0, 1, "reply", "auth", "refused"))
        log(SessionClosed("aa", str(number), 9.0, 9.0))
    assert not vars(log)["_open"]
