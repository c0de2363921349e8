from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.transports.admission.auth import TokenAuthenticator
from vixio.web.http.firmware_link import (
    FIRMWARE_PATH,
    LIFETIME_S,
    BadLink,
    FirmwareLinks,
    FirmwareTicket,
)
from vixio.web.http.public_url import HttpAddress

TICKET = FirmwareTicket(
    attempt=17,
    device_id="aa:bb:cc:dd:ee:ff",
    board="bread-compact-wifi",
    version="2.4.2",
    sha256="ab" * 32,
)
SECRET = b"a secret of the server"
LINKS = FirmwareLinks(secret=SECRET, address=HttpAddress(lambda: 8003), clock=lambda: 1_000.5)


def path(ticket: FirmwareTicket = TICKET, links: FirmwareLinks = LINKS) -> str:
    url = links.url(ticket, {"host": "h:1"}, "10.0.0.1", trust_forwarded=False)
    return urlsplit(url).path.removeprefix(FIRMWARE_PATH)


@pytest.mark.parametrize(
    ("headers", "trusted", "begin"),
    [
        ({"host": "192.168.1.5:8000"}, False, "http://192.168.1.5:8003/xiaozhi/firmware/"),
        ({}, False, "http://10.0.0.1:8003/xiaozhi/firmware/"),
        (
            {"host": "h", "x-forwarded-host": "voice.example", "x-forwarded-proto": "https"},
            True,
            "https://voice.example/xiaozhi/firmware/",
        ),
    ],
)
def test_the_url_is_at_the_address_of_the_device(
    headers: dict[str, str], trusted: bool, begin: str
) -> None:
    url = LINKS.url(TICKET, headers, "10.0.0.1", trust_forwarded=trusted)
    assert url.startswith(f"{begin}bread-compact-wifi/2.4.2/")
    assert url.endswith("/xiaozhi.bin")
    assert len(url) < 400
    assert urlsplit(url).query == ""


def test_a_public_host_stands_in_the_url() -> None:
    links = replace(LINKS, address=HttpAddress(lambda: 8003, "voice.lan"))
    url = links.url(TICKET, {"host": "h"}, "10.0.0.1", trust_forwarded=True)
    assert url.startswith("http://voice.lan:8003/")


def test_a_link_says_what_it_is_for() -> None:
    assert LINKS.check(path()) == TICKET
    other_process = FirmwareLinks(
        secret=SECRET, address=HttpAddress(lambda: 1), clock=lambda: 1_001.0
    )
    assert other_process.check(path()) == TICKET


def test_a_link_expires() -> None:
    late = replace(LINKS, clock=lambda: 1_000.5 + LIFETIME_S + 1)
    with pytest.raises(BadLink) as caught:
        late.check(path())
    assert caught.value.expired


def test_another_secret_does_not_open_it() -> None:
    with pytest.raises(BadLink) as caught:
        replace(LINKS, secret=b"another secret of a server").check(path())
    assert not caught.value.expired


def test_a_token_of_the_same_secret_is_no_signature() -> None:
    board, version, ticket, name = path().split("/")
    token = TokenAuthenticator(SECRET.decode()).issue(TICKET.device_id, "").partition(".")[2]
    with pytest.raises(BadLink):
        LINKS.check(f"{board}/{version}/{ticket.partition('.')[0]}.{token}/{name}")


@given(at=st.integers(0, 10_000), character=st.characters(max_codepoint=0x2FF))
def test_no_changed_link_passes(at: int, character: str) -> None:
    good = path()
    at %= len(good)
    changed = good[:at] + character + good[at + 1 :]
    if changed != good:
        with pytest.raises(BadLink):
            LINKS.check(changed)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "xiaozhi.bin",
        "../../etc/passwd",
        "bread-compact-wifi/2.4.2/xiaozhi.bin",
        f"../{path()}",
        path().replace("bread", "other"),
        path().replace("2.4.2", "2.4.3"),
        f"{path()}\n",
        f"/{path()}",
        "a/1/" + "A" * 100 + "." + "A" * 43 + "/xiaozhi.bin",
    ],
)
def test_what_is_no_link_is_none(wrong: str) -> None:
    with pytest.raises(BadLink):
        LINKS.check(wrong)


@given(st.text(max_size=300))
def test_any_text_is_no_link(text: str) -> None:
    with pytest.raises(BadLink):
        LINKS.check(text)


@given(
    attempt=st.integers(0, 10**18 - 1),
    device_id=st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
)
def test_any_device_gets_a_link(attempt: int, device_id: str) -> None:
    ticket = replace(TICKET, attempt=attempt, device_id=device_id)
    assert LINKS.check(path(ticket)) == ticket


@pytest.mark.parametrize("board", ["", "..", "a/b", "a b", "é"])
def test_no_link_is_made_for_a_name_that_is_no_boards(board: str) -> None:
    with pytest.raises(ValueError, match="no link"):
        path(replace(TICKET, board=board))
