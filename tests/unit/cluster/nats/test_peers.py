"""What a node makes of the messages of others, also where some are missing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vixio.cluster.nats import balance as balance_module
from vixio.cluster.nats import peers as module
from vixio.cluster.nats.balance import URL, Balance
from vixio.cluster.nats.names import PROTOCOL, proof_of
from vixio.cluster.nats.peers import Peers
from vixio.cluster.nats.rows import DEVICE
from vixio.core.cluster import DEVICES, DRAINING
from vixio.core.metrics import Counters

SECRET = "a secret of sixteen bytes"


class Other:
    """Another node, which speaks as ``State`` does."""

    def __init__(self, peers: Peers, name: str, url: str = "") -> None:
        self.peers = peers
        self.name = name
        self.url = url
        self.number = 0

    def message(self, **body: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON values
        self.number += 1
        return {
            "node": self.name,
            "number": self.number,
            "protocol": PROTOCOL,
            "version": "1",
            "proof": proof_of(SECRET, self.name),
            URL: self.url,
            **body,
        }

    def says(self, **body: Any) -> None:  # noqa: ANN401 - JSON values
        self.peers.received(self.message(**body))

    def whole(self, *rows: tuple[str, str, int]) -> None:
        self.says(whole=[0, 1], rows=[list(row) for row in rows])


class Kit:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.charged: list[tuple[str, str, int]] = []
        self.time = 100.0
        monkeypatch.setattr(module, "awake", lambda: self.time)
        self.peers = Peers(
            "me",
            SECRET,
            self.asked.append,
            lambda name, key, amount: self.charged.append((name, key, amount)),
            Counters(),
        )

    @property
    def sockets(self) -> int:
        return self.peers.table.sum(DEVICES, "")


@pytest.fixture
def kit(monkeypatch: pytest.MonkeyPatch) -> Kit:
    return Kit(monkeypatch)


def test_changes_follow_the_whole(kit: Kit) -> None:
    other = Other(kit.peers, "other")
    other.whole((DEVICES, "", 2), (DEVICE, "d", 1))
    other.says(rows=[[DEVICES, "", 5]], charges=[["connects", "10.0.0.1", 3]])
    assert kit.sockets == 5
    assert kit.peers.table.where("d") == "other"
    assert kit.charged == [("connects", "10.0.0.1", 3)]
    assert kit.asked == []


def test_a_node_that_is_heard_in_the_middle_is_asked_for_the_whole(kit: Kit) -> None:
    other = Other(kit.peers, "other")
    other.number = 7
    other.says(rows=[[DEVICES, "", 5]])
    assert kit.asked == ["other"]
    assert kit.sockets == 0, "what is known of it would be half of the truth"
    other.whole((DEVICES, "", 5))
    assert kit.sockets == 5


def test_a_message_that_is_missed_is_noticed_by_the_next_one(kit: Kit) -> None:
    other = Other(kit.peers, "other")
    other.whole((DEVICES, "", 2))
    other.message(rows=[[DEVICES, "", 9]])  # lost
    other.says()  # a sign of life
    assert kit.asked == ["other"]
    other.says()
    assert kit.asked == ["other"], "not more than once a second"
    kit.time += 1
    other.says()
    assert kit.asked == ["other", "other"]
    other.whole((DEVICES, "", 9))
    assert kit.sockets == 9


def test_a_page_that_is_missed_spoils_the_whole(kit: Kit) -> None:
    other = Other(kit.peers, "other")
    other.says(whole=[0, 3], rows=[[DEVICES, "", 1]])
    other.message(whole=[1, 3], rows=[])  # lost
    other.says(whole=[2, 3], rows=[])
    assert kit.sockets == 0
    assert kit.asked == ["other"]
    for page, rows in enumerate(([[DEVICES, "", 1]], [[DEVICE, "d", 1]])):
        other.says(whole=[page, 2], rows=rows)
    assert kit.sockets == 1
    assert kit.peers.table.where("d") == "other"


def test_own_messages_and_those_of_strangers_are_not_heard(kit: Kit) -> None:
    Other(kit.peers, "me").whole((DEVICES, "", 2))
    stranger = Other(kit.peers, "stranger")
    kit.peers.received(stranger.message(proof=proof_of("another", "stranger"), whole=[0, 1]))
    kit.peers.received(stranger.message(protocol=PROTOCOL + 1, whole=[0, 1]))
    kit.peers.received(stranger.message(proof=proof_of(SECRET, "other"), whole=[0, 1]))
    assert kit.peers.nodes == []


def test_a_node_that_says_goodbye_is_gone(kit: Kit) -> None:
    other = Other(kit.peers, "other")
    other.whole((DEVICES, "", 2))
    other.says(bye=True)
    assert kit.peers.nodes == []
    assert kit.sockets == 0


@pytest.mark.parametrize(
    "body",
    [
        {"number": "x"},
        {"rows": [["too", "short"]]},
        {"rows": 7},
        {"whole": [0]},
        {"whole": [0, 1], "rows": [["a", "b", None]]},
        {"charges": [[1]]},
    ],
)
def test_a_malformed_message_is_an_error_for_the_link(kit: Kit, body: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, IndexError)):
        kit.peers.received(Other(kit.peers, "other").message(**{"whole": [0, 1], **body}))


async def test_a_silent_node_is_dropped(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    naps: asyncio.Queue[float] = asyncio.Queue()
    slept = asyncio.sleep

    async def nap(seconds: float) -> None:
        kit.time += await naps.get()
        await slept(0)

    monkeypatch.setattr("vixio.cluster.nats.peers.asyncio.sleep", nap)
    watching = asyncio.create_task(kit.peers.watch())
    other = Other(kit.peers, "other")
    other.whole((DEVICES, "", 2))
    try:
        naps.put_nowait(60.0)  # this process stood still itself
        for _ in range(5):
            await slept(0)
        assert kit.peers.nodes
        for _ in range(9):
            naps.put_nowait(1.0)
            for _ in range(5):
                await slept(0)
        assert kit.peers.nodes == []
        assert kit.sockets == 0
    finally:
        watching.cancel()


class Own:
    """The state of this node, as the balance reads it."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def count(self, name: str, key: str = "") -> int:
        return self.counts.get(name, 0)


def test_devices_go_to_the_node_with_the_fewest(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance_module, "awake", lambda: kit.time)
    own = Own()
    balance = Balance("ws://me/", own, kit.peers)  # type: ignore[arg-type]
    assert balance.least_loaded() == "ws://me/"
    kit.time += 10  # it never came
    one, two = Other(kit.peers, "one", "ws://one/"), Other(kit.peers, "two", "ws://two/")
    one.whole((DEVICES, "", 2))
    two.whole((DEVICES, "", 4))
    own.counts[DEVICES] = 3
    named = [balance.least_loaded() for _ in range(3)]
    assert sorted(named) == ["ws://me/", "ws://one/", "ws://one/"]
    one.says(rows=[[DEVICES, "", 3]])  # the first has arrived
    own.counts[DEVICES] = 4
    assert sorted(balance.least_loaded() for _ in range(3)) == [
        "ws://me/",
        "ws://one/",
        "ws://two/",
    ]
    one.whole((DEVICES, "", 3), (DRAINING, "", 1))
    assert "ws://one/" not in [balance.least_loaded() for _ in range(9)]
    own.counts[DRAINING] = 1
    assert {balance.least_loaded() for _ in range(3)} == {"ws://two/"}


def test_nodes_that_say_no_address_are_not_named(kit: Kit) -> None:
    balance = Balance("", Own(), kit.peers)  # type: ignore[arg-type]
    Other(kit.peers, "other").whole()
    assert balance.least_loaded() == ""
