"""What a trace of a turn consists of."""

from __future__ import annotations

import pytest

from vixio.composition.traces import mistake, wanted
from vixio.core.metrics import ModelUse, ToolTiming, TurnTimeline
from vixio.core.session.events import TurnEnded
from vixio.telemetry.traces.spans import TurnTrace, trace_of

MARKS = {
    "voice_end": 10.0,
    "turn_end": 10.5,
    "transcript": 10.7,
    "first_token": 11.2,
    "first_sentence": 11.3,
    "speech_start": 11.35,
    "first_audio": 11.4,
    "first_frame": 11.6,
    "playout_end": 14.0,
}


def trace(timeline: TurnTimeline, *, at: float = 14.01) -> TurnTrace:
    return trace_of(TurnEnded("02:00:00:00:00:01", "session-1", at, timeline.turn_id, timeline))


def parts(found: TurnTrace) -> list[tuple[str, float, float]]:
    return [(each.name, each.start, each.end) for each in found.parts]


def test_the_stages_follow_one_another() -> None:
    found = trace(TurnTimeline(7, MARKS, outcome="answered"))
    assert parts(found) == [
        ("endpointing", 10.0, 10.5),
        ("transcript", 10.5, 10.7),
        ("first_token", 10.7, 11.2),
        ("first_sentence", 11.2, 11.3),
        ("first_audio", 11.3, 11.4),
        ("first_frame", 11.4, 11.6),
        ("playout", 11.6, 14.0),
    ]
    assert (found.turn.name, found.turn.start, found.turn.end) == ("turn", 10.0, 14.01)
    assert found.moments == {"speech_start": 11.35}
    assert found.turn.error is None
    assert found.turn.attributes == {
        "device.id": "02:00:00:00:00:01",
        "session.id": "session-1",
        "vixio.turn.id": 7,
        "vixio.turn.outcome": "answered",
    }


def test_a_stage_that_was_not_reached_is_left_out() -> None:
    marks = {name: MARKS[name] for name in ("turn_end", "transcript", "first_audio")}
    found = trace(TurnTimeline(7, marks, outcome="interrupted:wake_word_detected"))
    assert parts(found) == [("transcript", 10.5, 10.7), ("first_audio", 10.7, 11.4)]
    assert found.turn.attributes["vixio.turn.outcome"] == "interrupted"
    assert found.turn.attributes["vixio.turn.cause"] == "wake_word_detected"
    assert found.turn.error is None


def test_words_that_came_before_the_end_of_the_turn_turn_no_span_around() -> None:
    marks = {"voice_end": 10.0, "turn_end": 10.5, "transcript": 10.4, "first_token": 10.9}
    found = trace(TurnTimeline(7, marks))
    assert parts(found) == [
        ("endpointing", 10.0, 10.5),
        ("transcript", 10.4, 10.4),
        ("first_token", 10.5, 10.9),
    ]


def test_a_turn_without_marks_is_a_moment() -> None:
    found = trace(TurnTimeline(7), at=3.0)
    assert (found.turn.start, found.turn.end, found.parts) == (3.0, 3.0, [])


def test_a_failure_is_an_error_and_tools_are_spans() -> None:
    timeline = TurnTimeline(7, MARKS, outcome="failed:timeout")
    timeline.tools = [
        ToolTiming("lamp", 0.2, True, "device", 11.0),
        ToolTiming("door", 0.1, False, "home", 11.1),
    ]
    timeline.models = [ModelUse("openai/m", 100, 20), ModelUse("openai/m", 120, 5)]
    found = trace(timeline)
    assert found.turn.error == "timeout"
    assert found.turn.attributes["vixio.models"] == ("openai/m",)
    assert found.turn.attributes["gen_ai.usage.input_tokens"] == 220
    assert found.turn.attributes["gen_ai.usage.output_tokens"] == 25
    lamp, door = found.parts[-2:]
    assert (lamp.name, lamp.end) == ("execute_tool lamp", 11.0)
    assert lamp.start == pytest.approx(10.8)
    assert lamp.attributes["vixio.tool.source"] == "device"
    assert (lamp.error, door.error) == (None, "failed")
    assert trace(TurnTimeline(7, MARKS, outcome="tool_failed")).turn.error == "tool_failed"
    assert trace(TurnTimeline(7, MARKS, outcome="not_understood")).turn.error is None


def test_what_a_device_states_as_the_cause_is_not_passed_on() -> None:
    found = trace(TurnTimeline(7, MARKS, outcome="interrupted:my secret words"))
    assert found.turn.attributes["vixio.turn.cause"] == "other"
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "kitchen"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_SDK_DISABLED": "True"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_the_environment_says_whether(environ: dict[str, str], expected: bool) -> None:
    assert wanted(environ) is expected


def test_another_protocol_is_a_mistake() -> None:
    assert mistake({}) == ""
    assert mistake({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}) == ""
    assert "grpc" in mistake({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    both = {
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
    }
    assert mistake(both) == ""
