"""Names of queues and addresses of brokers."""

from __future__ import annotations

import pytest

from vixio.bus.address import TlsFiles, parse_address
from vixio.bus.queues import beside, canonical, topic
from vixio.core.errors import ConfigError

JOKE = "non-persistent://tg/request/joke"


@pytest.mark.parametrize("queue", [JOKE, "request:tg:joke", "tg.request.joke"])
def test_one_name_for_all_spellings(queue: str) -> None:
    assert canonical(queue) == "tg.request.joke"


def test_topics_of_pulsar() -> None:
    assert topic(JOKE) == topic("request:tg:joke") == JOKE
    assert topic("flow:tg:notes") == "persistent://tg/flow/notes"
    assert topic("joke") == "non-persistent://public/default/joke"


@pytest.mark.parametrize("queue", [JOKE, "request:tg:joke", "tg.request.joke"])
def test_a_queue_beside_another(queue: str) -> None:
    assert canonical(beside(queue, "cancel")) == "tg.request.joke.cancel"


@pytest.mark.parametrize(
    "queue",
    [
        "",
        "a b",
        "a.>",
        "a..b",
        "a.*",
        "a\r\nPUB x",
        "x://tg/request/joke",
        "tg/joke",
        "job:tg:a",
        "a" * 201,
        "non-persistent://tg/joke",
    ],
)
def test_what_is_not_the_name_of_a_queue(queue: str) -> None:
    with pytest.raises(ValueError, match=r"is not the name of a queue|begins with none of"):
        canonical(queue)


def test_parts_of_an_address() -> None:
    address = parse_address("nats://alice:s%40crt@a:4222,b", tls=TlsFiles(ca="ca.pem"))
    assert address.backend == "nats"
    assert address.urls == ("nats://a:4222", "nats://b")
    assert (address.user, address.password) == ("alice", "s@crt")
    assert address.tls.ca == "ca.pem"
    assert not address.encrypted
    assert "s@crt" not in f"{address} {address!r}"


def test_a_token_of_nats_stands_in_front() -> None:
    address = parse_address("tls://t0ken@host")
    assert (address.token, address.user, address.encrypted) == ("t0ken", "", True)


def test_the_settings_win_over_the_url() -> None:
    address = parse_address("amqp://guest:guest@host/home", user="alice", password="x")
    assert (address.user, address.password, address.path) == ("alice", "x", "home")
    assert parse_address("amqp://host/%2F").path == "/"


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("kafka://secret@host", "the broker's url begins with 'kafka', expected one of memory://"),
        ("host:4222", "the broker's url begins with 'host:4222'"),
        ("nats://", "the broker's url names no host: nats://HOST"),
        ("nats://host:port", "the broker's url has no valid host and port"),
        ("nats://host?secret=x", "the broker's url has no query: use the settings beside it"),
    ],
)
def test_a_wrong_address_is_one_line_without_secrets(url: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address(url)
    assert str(caught.value).startswith(line)
    assert "secret" not in str(caught.value)
