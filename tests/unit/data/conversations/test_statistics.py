"""The figures of turns: by outcome, waits, tokens by profile, and the slowest with their parts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.registry_databases import Make
from vixio.data.conversations import statistics
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository
from vixio.data.conversations.statistics import parts_of, read_figures
from vixio.data.devices.repository import DeviceRepository

KITCHEN = "02:00:00:00:00:01"


def a_turn(number: int, at: int, wait_ms: int | None = None, **more: Any) -> TurnRecord:  # noqa: ANN401 - of the dataclass
    """Return a turn; ``wait_ms`` None: nothing was spoken."""
    stages = {} if wait_ms is None else {"turn_end": 0, "first_frame": wait_ms}
    return TurnRecord(KITCHEN, "s", number, at, **{"stages": stages, "outcome": "answered", **more})


def used(model: str, read: int, written: int) -> dict[str, Any]:
    """Return an answer of a model, as a turn has it."""
    return {"model": model, "input_tokens": read, "output_tokens": written}


async def test_figures_of_a_span(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    database = make()
    await database.open()
    await DeviceRepository(database).add(KITCHEN, "me", name="Kitchen")
    two = [used("a", 100, 10), used("b", 1, 2)]
    await ConversationRepository(database).write(
        [
            a_turn(1, 99, 9_000),
            a_turn(2, 100, 1_000, models=two, profile="kids"),
            a_turn(3, 110, 500, models=[used("a", 5, 6)], profile="kids"),
            a_turn(4, 120, 2_009, models=[{"model": "c"}]),
            a_turn(5, 130, outcome="failed:agent"),
            a_turn(6, 140, outcome="interrupted:voice"),
            a_turn(7, 150, outcome="not_understood", stages={"first_frame": 50_000}),  # unasked
            a_turn(8, 199, outcome="unfinished"),
            a_turn(9, 200, 9_000),
        ]
    )
    found = await read_figures(database, 100, 200)
    assert found.outcomes == {
        "answered": 3,
        "failed": 1,
        "interrupted": 1,
        "not_understood": 1,
        "unfinished": 1,
    }
    assert [found.wait_ms(share) for share in (0.3, 0.5, 0.95, 1)] == [500, 1_000, 2_000, 2_000]
    assert found.tokens == {
        "kids": {"turns": 2, "input": 106, "output": 18},
        "": {"turns": 5, "input": 0, "output": 0},
    }
    monkeypatch.setattr(statistics, "SLOWEST", 2)
    slow = (await read_figures(database, 100, 200)).slowest
    assert sorted((turn.turn, turn.wait_ms, name) for turn, name in slow) == [
        (2, 1_000, "Kitchen"),
        (4, 2_009, "Kitchen"),
    ]
    assert slow[0][0].models in (two, [{"model": "c"}])
    none = await read_figures(database, 300, 400)
    assert (none.outcomes, none.wait_ms(0.5), none.tokens, none.slowest) == ({}, None, {}, [])
    await database.close()


async def test_the_slowest_of_a_device_that_is_forgotten(make: Make) -> None:
    database = make()
    await database.open()
    await ConversationRepository(database).write([a_turn(1, 1, 700)])
    ((turn, name),) = (await read_figures(database, 0, 2)).slowest
    assert (turn.wait_ms, name) == (700, "")
    await database.close()


@pytest.mark.parametrize(
    ("stages", "tools", "parts"),
    [
        # As tests/console/js has them for the bar of a turn.
        (
            {
                "voice_end": -600,
                "turn_end": 0,
                "transcript": 100,
                "first_token": 900,
                "first_sentence": 1_000,
                "first_audio": 1_300,
                "first_frame": 1_350,
                "playout_end": 9_000,
            },
            [{"ms": 400}, {}],
            (600, 100, 500, 400, 350),
        ),
        # Begun ahead: its words were there before the end of the turn.
        (
            {"voice_end": -300, "turn_end": 0, "transcript": -50, "first_frame": 20},
            [],
            (300, 0, 0, 0, 20),
        ),
        # Tools that went on behind the first sentence are no part of the wait.
        (
            {"turn_end": 0, "first_sentence": 50, "first_frame": 60},
            [{"ms": 900}],
            (0, 0, 0, 50, 10),
        ),
    ],
)
def test_where_a_wait_went(
    stages: dict[str, int], tools: list[dict[str, Any]], parts: tuple[int, ...]
) -> None:
    turn = TurnRecord(KITCHEN, "s", 1, 1, stages=stages, tools=tools)
    assert tuple(parts_of(turn).values()) == parts
    assert sum(parts) == turn.wait_ms
