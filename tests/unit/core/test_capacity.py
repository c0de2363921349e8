"""How many devices are admitted, by what they are seen to cost."""

from __future__ import annotations

import random

import pytest

from vixio.core.capacity import CONNECT, FULL, LEAST, LISTENING, TURN, Capacity, CostModel, Costs

REFERENCE = CostModel().devices()


def watched(
    model: CostModel,
    costs: Costs,
    devices: int,
    *,
    seconds: float = 60.0,
    talking: float = 1.0,
    jitter: float = 0.0,
) -> None:
    """Have a model see ``devices`` of which the share ``talking`` converses."""
    chance = random.Random(1)
    for _ in range(int(seconds / 2)):
        turns = round(devices * talking * 0.2)
        listened = devices * (talking * 1.4 + (1 - talking) * 2)
        used = listened * costs.listening + turns * costs.turn
        model.learn(2.0, listened, turns, 0, used * (1 + jitter * chance.uniform(-1, 1)))


def test_a_slow_machine_takes_fewer_devices() -> None:
    model = CostModel()
    model.calibrate(2.0, 1.0)
    assert model.devices() == pytest.approx(REFERENCE / 2, abs=1)


def test_further_cores_help_as_long_as_one_thread_bears_it() -> None:
    model = CostModel()
    model.calibrate(1.0, 2.0)
    two = model.devices()
    model.calibrate(1.0, 16.0)
    assert REFERENCE < two == model.devices()
    model.calibrate(1.0, 0.5)
    assert model.devices() == pytest.approx(REFERENCE / 2, abs=1)


@pytest.mark.parametrize("jitter", [0.0, 0.3])
@pytest.mark.parametrize("talking", [1.0, 0.5])
@pytest.mark.parametrize("times", [0.5, 1.0, 3.0, 6.0])
def test_what_is_seen_replaces_the_calibration(times: float, talking: float, jitter: float) -> None:
    costs = Costs(LISTENING * times, TURN * times)
    fits = int(FULL / costs.conversing)
    model = CostModel()
    watched(model, costs, fits // 2, talking=talking, jitter=jitter)
    assert model.devices() == pytest.approx(fits, rel=0.15)


def test_listening_alone_says_what_turns_will_cost() -> None:
    costs = Costs(LISTENING * 4, TURN * 4)
    model = CostModel()
    watched(model, costs, 60, seconds=10, talking=0.0)
    assert model.devices() < REFERENCE / 3


def test_costly_turns_are_told_from_costly_listening() -> None:
    """As of a recogniser on this machine, whose processes count too."""
    costs = Costs(LISTENING, TURN * 10)
    model = CostModel()
    watched(model, costs, 50, seconds=60, talking=0.3, jitter=0.2)
    watched(model, costs, 50, seconds=60, talking=0.7, jitter=0.2)
    assert model.costs.turn > 5 * model.costs.listening
    assert model.devices() == pytest.approx(FULL / costs.conversing, rel=0.3)


@pytest.mark.parametrize(("connects", "dear"), [(100, 1.0), (100, 1.5), (10, 1.0)])
def test_a_storm_of_connects_is_not_taken_for_the_cost_of_listening(
    connects: int, dear: float
) -> None:
    """As after a power cut: 250 devices within five seconds. ``dear``: what a connect costs."""
    model = CostModel()
    devices = 40
    for _ in range(3):
        devices += connects
        listened = (devices - connects / 2) * 2.0
        used = listened * LISTENING + connects * CONNECT * dear
        model.learn(2.0, listened, 0, connects, used)
        assert model.devices() > REFERENCE * 0.9


def test_a_machine_that_is_free_again_takes_more() -> None:
    model = CostModel()
    watched(model, Costs(LISTENING * 4, TURN * 4), 60)
    few = model.devices()
    watched(model, Costs(LISTENING, TURN), 60, seconds=300)
    assert few < REFERENCE / 3
    assert model.devices() > REFERENCE * 0.8


def test_a_calm_moment_does_not_outweigh_busy_ones() -> None:
    model = CostModel()
    watched(model, Costs(LISTENING * 4, TURN * 4), 60)
    before = model.devices()
    model.learn(2.0, 60 * 1.4, 12, 0, 0.25)
    assert model.devices() < before * 1.3


def test_little_work_teaches_nothing() -> None:
    model = CostModel()
    watched(model, Costs(LISTENING * 20, TURN * 20), 1)
    assert model.devices() == REFERENCE


def test_a_few_devices_are_always_admitted() -> None:
    model = CostModel()
    model.calibrate(1000.0, 1.0)
    assert model.devices() == LEAST


def test_the_share_that_converses_multiplies_the_devices_and_zero_lifts_the_limit() -> None:
    assert CostModel().devices(0.1) == pytest.approx(REFERENCE * 10, rel=0.01)
    capacity = Capacity(0.0)
    capacity.measured = True
    assert capacity.devices is None


def test_nothing_is_refused_before_the_machine_is_known() -> None:
    capacity = Capacity()
    assert capacity.devices is None
    capacity.measured = True
    assert capacity.devices == REFERENCE
