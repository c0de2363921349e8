"""When a transcript is complete, for each of FunASR's servers."""

from __future__ import annotations

from collections.abc import Iterable

from vixio.providers.funasr_server.messages import Result
from vixio.providers.funasr_server.transcript import (
    SETTLE,
    SETTLE_LONG,
    Ending,
    Habits,
    Transcript,
)


def online(text: str, *, final: bool = False, mode: str = "2pass-online") -> Result:
    return Result(text, mode, is_final=final)


def offline(text: str, *, final: bool = False, mode: str = "2pass-offline") -> Result:
    return Result(text, mode, is_final=final)


def play(
    habits: Habits, before: Iterable[Result], after: Iterable[Result], *, only_online: bool = False
) -> tuple[Transcript, list[float | None]]:
    """Feed the results before and after the end; return the transcript and each later patience."""
    transcript = Transcript(habits, online=only_online)
    for result in before:
        transcript.take(result)
        assert transcript.patience is None
        assert not transcript.complete
    transcript.end()
    patience = [transcript.patience]
    for result in after:
        assert not transcript.complete
        transcript.take(result)
        patience.append(transcript.patience)
    return transcript, patience


def test_the_second_pass_replaces_the_first() -> None:
    transcript = Transcript(Habits(), online=False)
    partials = []
    for result in [
        online("打"),
        online("开等"),
        offline("打开灯。"),
        online("turn "),
        online("it"),
        online("off"),
        offline("Turn it off."),
    ]:
        transcript.take(result)
        partials.append(transcript.words.text)
    assert partials == [
        "打",
        "打开等",
        "打开灯。",
        "打开灯。turn",
        "打开灯。turn it",
        "打开灯。turn it off",
        "打开灯。Turn it off.",
    ]


def test_the_cpp_server_settles_once_then_its_final_counts() -> None:
    habits = Habits()
    first, patience = play(habits, [online("a")], [offline("A."), offline("B.", final=True)])
    assert patience == [None, SETTLE_LONG, SETTLE]
    first.settle()
    assert first.complete
    assert first.words.text == "A. B."
    second, patience = play(habits, [online("a")], [offline("A."), offline("B.", final=True)])
    assert patience == [None, None, None]
    assert second.complete
    silent, _ = play(habits, [], [Result(is_final=True)])
    assert silent.complete
    assert silent.words.text == ""


def test_the_offline_server_has_one_result() -> None:
    heard, _ = play(Habits(), [], [offline("A.", mode="offline")])
    assert heard.complete


def test_the_python_server_acknowledges() -> None:
    habits = Habits()
    segment, ack = offline("A.", final=True), Result(mode="2pass", is_final=True, ended=True)
    first, patience = play(habits, [segment], [segment, offline("B.", final=True), ack])
    assert patience == [None, SETTLE, SETTLE, None]
    assert first.complete
    second, patience = play(habits, [], [segment, offline("B.", final=True), ack])
    assert patience == [None, None, None, None]
    assert second.words.text == "A. B."


def test_the_old_python_server_says_final_of_all_but_the_last() -> None:
    habits = Habits()
    heard, _ = play(habits, [online("a", final=True)], [offline("A.", final=True), offline("B.")])
    assert heard.complete
    assert habits.ending is Ending.NOT_FINAL
    blind, patience = play(Habits(), [], [offline("A.")])
    assert patience[-1] == SETTLE_LONG
    blind.settle()
    assert blind.words.text == "A."


def test_the_old_python_server_ends_online_with_nothing() -> None:
    habits = Habits()
    heard, patience = play(habits, [online("a", mode="online", final=True)], [], only_online=True)
    assert patience == [SETTLE_LONG]
    heard.settle()
    assert habits.ending is Ending.QUIET
    _, patience = play(habits, [online("a", mode="online", final=True)], [], only_online=True)
    assert patience == [SETTLE]


def test_with_a_second_pass_silence_is_never_taken_for_an_end() -> None:
    _, patience = play(Habits(), [online("a")], [])
    assert patience == [None]


def test_a_server_that_has_changed_is_learned_anew() -> None:
    habits = Habits()
    habits.ending = Ending.FINAL
    play(habits, [], [Result(ended=True)])
    assert habits.ending is Ending.ACKNOWLEDGED
    habits.doubt()
    _, patience = play(habits, [], [offline("A.", final=True)])
    assert patience[-1] == SETTLE
