"""Cards, messages and event streams as they stand on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ToolError
from vixio.tools.a2a.answer import MAX_PIECES, MAX_TEXT, Answer
from vixio.tools.a2a.card import card_url, read_card
from vixio.tools.a2a.client import (
    MAX_EVENT_BYTES,
    MAX_EVENTS,
    MAX_STREAM_BYTES,
    read_events,
)
from vixio.tools.a2a.protocol import (
    Endpoint,
    Piece,
    State,
    message_params,
    read_update,
)

URL = "https://agent.example.org/weather/.well-known/agent-card.json"


def interface(url: str, binding: str = "JSONRPC", version: str = "1.0") -> dict[str, str]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://a.org", "https://a.org/.well-known/agent-card.json"),
        ("https://a.org/weather/", "https://a.org/weather/.well-known/agent-card.json"),
        ("https://a.org/card.json", "https://a.org/card.json"),
    ],
)
def test_where_the_card_is(url: str, found: str) -> None:
    assert card_url(url) == found


@pytest.mark.parametrize(
    ("interfaces", "chosen"),
    [
        (
            [
                interface("https://agent.example.org/old", version="0.3"),
                interface("https://agent.example.org/rest", "HTTP+JSON"),
                interface("https://agent.example.org/rpc"),
                interface("https://agent.example.org/grpc", "GRPC"),
            ],
            Endpoint("https://agent.example.org/rpc", "jsonrpc", "1.0"),
        ),
        (
            [
                interface("https://agent.example.org/old", version="0.3.0"),
                interface("https://agent.example.org/rest", "HTTP+JSON"),
            ],
            Endpoint("https://agent.example.org/rest", "http+json", "1.0"),
        ),
        (
            [{**interface("/rpc"), "tenant": "t1"}, interface("https://elsewhere.org/rpc")],
            Endpoint("https://agent.example.org/rpc", "jsonrpc", "1.0", "t1"),
        ),
    ],
)
def test_the_newest_interface_on_the_own_host_is_chosen(
    interfaces: list[dict[str, str]], chosen: Endpoint
) -> None:
    assert read_card({"supportedInterfaces": interfaces}, URL).endpoint == chosen


def test_a_card_of_the_old_version() -> None:
    card = read_card(
        {
            "name": "Old",
            "url": "https://agent.example.org/grpc",
            "preferredTransport": "GRPC",
            "additionalInterfaces": [
                {"url": "https://agent.example.org/rpc", "transport": "JSONRPC"}
            ],
            "protocolVersion": "0.3.0",
            "capabilities": {"streaming": True},
            "skills": [{"id": "a", "name": "A", "examples": ["x", 7, "y" * 500]}, "no", {}],
        },
        URL,
    )
    assert card.endpoint == Endpoint("https://agent.example.org/rpc", "jsonrpc", "0.3")
    assert card.streaming
    assert [(skill.id, skill.examples) for skill in card.skills] == [("a", ("x",))]


@pytest.mark.parametrize(
    "url",
    [
        "http://agent.example.org/rpc",  # less protected than the card
        "https://agent.example.org:8443/rpc",
        "https://agent.example.org.evil.org/rpc",
        "https://user:password@agent.example.org/rpc",
        "file:///etc/passwd",
        "https://agent.example.org/r pc\r\nX: y",
        "https://[::1/",
    ],
)
def test_an_interface_elsewhere_is_refused(url: str) -> None:
    with pytest.raises(ToolError):
        read_card({"supportedInterfaces": [interface(url)]}, URL)


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from(["task", "message"]),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "kind",
                        "task",
                        "message",
                        "statusUpdate",
                        "artifactUpdate",
                        "status",
                        "state",
                        "parts",
                        "text",
                        "data",
                        "file",
                        "artifact",
                        "artifacts",
                        "artifactId",
                        "messageId",
                        "skills",
                        "supportedInterfaces",
                        "url",
                        "capabilities",
                        "name",
                        "id",
                    ]
                ),
                inner,
            )
        ),
        max_leaves=30,
    )
)
def test_whatever_an_agent_sends_is_read_or_refused(value: Any) -> None:  # noqa: ANN401 - any JSON
    for read in (read_update, lambda each: read_card(each, URL)):
        with suppress(ToolError):
            read(value)


def test_both_versions_are_read_alike() -> None:
    new = {
        "statusUpdate": {
            "taskId": "t",
            "contextId": "c",
            "status": {
                "state": "TASK_STATE_INPUT_REQUIRED",
                "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "When?"}]},
            },
        }
    }
    old = {
        "kind": "status-update",
        "taskId": "t",
        "contextId": "c",
        "final": True,
        "status": {
            "state": "input-required",
            "message": {
                "kind": "message",
                "messageId": "m",
                "role": "agent",
                "parts": [{"kind": "text", "text": "When?"}],
            },
        },
    }
    update = read_update(new)
    assert update == read_update(old)
    assert update.state is State.INPUT_REQUIRED
    assert update.pieces == (Piece("message m", "When?"),)


def test_files_and_images_are_passed_on_or_mentioned() -> None:
    parts = [
        {"raw": "aGk=", "mediaType": "image/png"},
        {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "image/png"}},
        {"url": "https://x.org/a.pdf", "filename": "a.pdf", "mediaType": "application/pdf"},
        {"kind": "file", "file": {"bytes": "aGk=", "name": "b.zip"}},
    ]
    (piece,) = read_update({"message": {"messageId": "m", "parts": parts}}).pieces
    assert [image.data for image in piece.images] == ["aGk=", "aGk="]
    assert piece.data == (
        "[a.pdf, application/pdf: https://x.org/a.pdf]",
        "[b.zip, unknown type: it cannot be passed on]",
    )


def test_a_message_is_written_in_the_agents_version() -> None:
    new = message_params(Endpoint("u"), "Hi", "m", "c", "t", "s")
    assert new["message"] == {
        "messageId": "m",
        "role": "ROLE_USER",
        "parts": [{"text": "Hi"}],
        "contextId": "c",
        "taskId": "t",
        "metadata": {"skillId": "s"},
    }
    old = message_params(Endpoint("u", version="0.3"), "Hi", "m", "", "", "")
    assert old["message"]["parts"] == [{"kind": "text", "text": "Hi"}]
    assert old["configuration"]["blocking"] is True
    assert "contextId" not in old["message"]


async def pieces(*several: bytes) -> AsyncIterator[bytes]:
    for each in several:
        yield each


async def test_events_are_read_and_signs_of_life_are_not() -> None:
    stream = pieces(b": ping\n\ndata:\n\ndata: [1,\nda", b"ta:2]\n\ndata: 3\r\n\r\ndata: 4")
    assert [each async for each in read_events(stream)] == ["[1,\n2]", "3"]


@pytest.mark.parametrize(
    "stream",
    [
        [b"data: x\n\n" * 1_000] * (MAX_EVENTS // 1_000 + 1),
        [b": " + b"x" * 999_997 + b"\n"] * (MAX_STREAM_BYTES // 1_000_000 + 1),
        [b"data: " + b"x" * MAX_EVENT_BYTES],
    ],
    ids=["events", "bytes", "bytes of an event"],
)
async def test_a_stream_is_bounded(stream: list[bytes]) -> None:
    with pytest.raises(ToolError, match="too long"):
        async for _ in read_events(pieces(*stream)):
            pass


def test_a_growing_artifact_is_said_once() -> None:
    answer = Answer()
    said = [
        answer.take(Piece("artifact 1", text))
        for text in ("It ", "It is ", "It is so.", "It is so.")
    ]
    assert said == ["It ", "is ", "so.", ""]
    assert answer.text == "It is so."


def test_an_artifact_that_is_replaced_is_said_anew() -> None:
    answer = Answer()
    answer.take(Piece("artifact 1", "Draft."))
    assert answer.take(Piece("artifact 1", "Final.")) == "\nFinal."
    assert answer.text == "Final."


def test_an_answer_is_bounded_however_it_comes() -> None:
    answer = Answer()
    said = "".join(answer.take(Piece("artifact 1", "word " * 50, append=True)) for _ in range(500))
    assert len(said) == len(answer.text) + said.endswith(" ") == MAX_TEXT
    many = Answer()
    for number in range(5 * MAX_PIECES):
        many.take(Piece(f"message {number}", f"{number}"))
    assert many.text.count("\n") == MAX_PIECES - 1
