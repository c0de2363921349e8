"""The floor as a table: every state and every input, and what follows."""

from __future__ import annotations

import itertools

import pytest

from vixio.core.chunk import ListenMode
from vixio.core.turns.floor import ECHO_TAIL_S, TABLE, Action, Floor, Input, State

AFTER_CUT = {State.IDLE, State.LISTENING, State.THINKING}


def floor(state: State, *, microphone: bool = True, mode: ListenMode = ListenMode.AUTO) -> Floor:
    made = Floor()
    if microphone:
        made.microphone_on(mode)
    if state in {State.THINKING, State.SPEAKING, State.PAUSED}:
        made.step(Input.TURN)
    if state in {State.SPEAKING, State.PAUSED}:
        made.step(Input.SPEAKS)
    if state is State.PAUSED:
        made.step(Input.HUSH)
    assert made.state is state
    return made


def test_a_new_floor_hears_nothing() -> None:
    new = Floor()
    assert (new.state, new.mode, new.microphone) == (State.IDLE, ListenMode.AUTO, False)
    assert (new.hears, new.hears_itself, new.quiet, new.audible) == (False, False, True, False)


def test_a_device_that_hears_itself_may_speak_before_it_ever_listens() -> None:
    new = Floor()
    new.hears_itself = True
    new.sounds_until(5.0)
    assert not new.hears_at(6.0)
    new.microphone_on(ListenMode.AUTO)
    assert new.hears_at(0.0)


def test_the_button_stays_pressed_while_the_reply_goes_on() -> None:
    stepping = floor(State.SPEAKING, mode=ListenMode.MANUAL)
    stepping.step(Input.NO_TURN)
    assert stepping.microphone


def test_every_state_has_a_row_for_every_input() -> None:
    assert set(TABLE) == set(State)
    for state, rows in TABLE.items():
        assert set(rows) == set(Input), state


@pytest.mark.parametrize("happened", Input)
@pytest.mark.parametrize("state", State)
def test_every_step_leaves_a_consistent_floor(state: State, happened: Input) -> None:
    for mode in ListenMode:
        stepping = floor(state, microphone=state is not State.IDLE, mode=mode)
        actions = stepping.step(happened)
        assert len(set(actions)) == len(actions)
        if Action.CUT in actions:
            assert state in {State.THINKING, State.SPEAKING, State.PAUSED}
            assert stepping.state in AFTER_CUT
        if {Action.REPLY, Action.JOIN, Action.APOLOGISE, Action.SAY} & set(actions):
            assert stepping.state is State.THINKING
        if Action.PAUSE in actions:
            assert stepping.state is State.PAUSED
        if Action.RESUME in actions:
            assert (state, stepping.state) == (State.PAUSED, State.SPEAKING)
        assert stepping.quiet == (stepping.state in {State.IDLE, State.LISTENING})
        if stepping.quiet:
            assert (stepping.state is State.LISTENING) == stepping.microphone


def test_no_pair_of_inputs_reaches_a_reply_that_cannot_end() -> None:
    for state, (first, then) in itertools.product(State, itertools.product(Input, Input)):
        stepping = floor(state, microphone=state is not State.IDLE)
        stepping.step(first)
        stepping.step(then)
        stepping.step(Input.DONE)
        assert stepping.quiet, (state, first, then)


@pytest.mark.parametrize(
    ("state", "happened", "actions", "after"),
    [
        # The firmware repeats its start in auto mode; a press of the button is a new question.
        (State.THINKING, Input.LISTEN_START, (Action.FEED,), State.THINKING),
        (State.THINKING, Input.BUTTON_DOWN, (Action.CUT, Action.FEED), State.LISTENING),
        (State.SPEAKING, Input.LISTEN_START, (Action.CUT, Action.FEED), State.LISTENING),
        (State.SPEAKING, Input.OWN_START, (Action.FEED,), State.SPEAKING),
        # The device stays in its speaking state until tts stop comes.
        (State.LISTENING, Input.ABORT, (Action.FEED, Action.SILENCE), State.LISTENING),
        (State.THINKING, Input.TURN, (Action.JOIN,), State.THINKING),
        (State.THINKING, Input.UNCLEAR, (), State.THINKING),
        (State.SPEAKING, Input.HUSH, (Action.PAUSE,), State.PAUSED),
        (State.PAUSED, Input.NO_TURN, (Action.RESUME,), State.SPEAKING),
        (State.PAUSED, Input.UNCLEAR, (Action.RESUME,), State.SPEAKING),
        (State.PAUSED, Input.TURN, (Action.CUT, Action.REPLY), State.THINKING),
        (State.PAUSED, Input.BARGE_IN, (Action.CUT,), State.LISTENING),
        # What is about a reply that has been cut already changes nothing.
        (State.LISTENING, Input.SPEAKS, (), State.LISTENING),
        (State.LISTENING, Input.DONE, (), State.LISTENING),
        (State.IDLE, Input.SPEECH, (Action.SAY,), State.THINKING),
        (State.SPEAKING, Input.SPEECH, (Action.CUT, Action.SAY), State.THINKING),
    ],
)
def test_what_follows(
    state: State, happened: Input, actions: tuple[Action, ...], after: State
) -> None:
    stepping = floor(state, microphone=state is not State.IDLE)
    assert stepping.step(happened) == actions
    assert stepping.state is after


@pytest.mark.parametrize("mode", ListenMode)
def test_the_microphone_after_a_reply(mode: ListenMode) -> None:
    stepping = floor(State.SPEAKING, mode=mode)
    stepping.step(Input.DONE)
    # main/application.cc, OnIncomingJson "tts": in manual mode the device rests.
    assert stepping.microphone == (mode is not ListenMode.MANUAL)
    assert stepping.hears == stepping.microphone


@pytest.mark.parametrize(
    ("mode", "hears_itself", "hears"),
    [
        (ListenMode.AUTO, False, False),
        (ListenMode.MANUAL, False, False),
        (ListenMode.REALTIME, False, True),
        (ListenMode.REALTIME, True, False),
    ],
)
def test_who_is_heard_while_the_device_speaks(
    mode: ListenMode, hears_itself: bool, hears: bool
) -> None:
    stepping = floor(State.THINKING, mode=mode)
    stepping.hears_itself = hears_itself
    assert stepping.hears
    stepping.step(Input.SPEAKS)
    assert stepping.hears == hears
    stepping.step(Input.DONE)
    assert stepping.hears == (mode is not ListenMode.MANUAL)


def test_a_start_is_expected_once_and_for_a_while() -> None:
    stepping = Floor()
    assert not stepping.expects_start(0.0)
    stepping.expect_start(11.0)
    assert stepping.expects_start(11.0)
    assert not stepping.expects_start(11.0)
    stepping.expect_start(11.0)
    assert not stepping.expects_start(11.1)


def test_what_is_typed_behind_a_stop_leaves_the_start_expected() -> None:
    stepping = Floor()
    stepping.expect_start(12.0)  # the stop's, on a slow line
    stepping.expect_start(11.0)  # the typed text's
    assert stepping.expects_start(11.5)


def test_a_start_that_says_nothing_new() -> None:
    stepping = Floor()
    assert stepping.microphone_on(ListenMode.AUTO)
    assert not stepping.microphone_on(ListenMode.AUTO)
    assert stepping.microphone_on(ListenMode.REALTIME)
    assert stepping.microphone_on(ListenMode.MANUAL)
    assert stepping.microphone_on(ListenMode.MANUAL), "each press begins an utterance"
    assert stepping.microphone_off()
    assert not stepping.microphone_off()


def test_a_device_that_hears_itself_is_not_heard_until_its_echo_is_over() -> None:
    stepping = floor(State.SPEAKING, mode=ListenMode.REALTIME)
    stepping.hears_itself = True
    stepping.step(Input.DONE)
    stepping.sounds_until(10.0)
    assert stepping.hears
    assert not stepping.hears_at(10.0 + ECHO_TAIL_S - 0.01)
    assert stepping.hears_at(10.0 + ECHO_TAIL_S)


def test_a_microphone_that_opens_hears_no_echo() -> None:
    stepping = floor(State.SPEAKING, mode=ListenMode.REALTIME)
    stepping.hears_itself = True
    stepping.sounds_until(10.0)
    stepping.step(Input.WAKE_WORD)
    stepping.microphone_on(ListenMode.REALTIME)
    assert stepping.hears_at(9.0)


def test_a_device_that_cancels_its_echo_is_heard_at_once() -> None:
    stepping = floor(State.SPEAKING, mode=ListenMode.REALTIME)
    stepping.step(Input.DONE)
    stepping.sounds_until(10.0)
    assert stepping.hears_at(10.0)
