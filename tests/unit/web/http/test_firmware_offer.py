from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.transports.admission.access import OtaRequest
from vixio.web.http.firmware_link import FIRMWARE_PATH, FirmwareLinks, FirmwareTicket
from vixio.web.http.firmware_offer import (
    FirmwareOffers,
    OfferedFirmware,
    RunningFirmware,
    read_running,
)
from vixio.web.http.public_url import HttpAddress

VISIT = OtaRequest(device_id="aa:bb", board="a-board", chip="esp32s3", firmware="2.4.1")
TICKET = FirmwareTicket(
    attempt=3, device_id="aa:bb", board="a-board", version="2.4.2", sha256="ab" * 32
)
LINKS = FirmwareLinks(secret=b"a secret of the server", address=HttpAddress(lambda: 8003))
MB = 1024 * 1024


def partition(label: str, subtype: int, size: int = 4 * MB, kind: int = 0) -> dict[str, Any]:
    """Return a partition as devices state it (board.cc, GetSystemInfoJson)."""
    return {"label": label, "type": kind, "subtype": subtype, "address": 0, "size": size}


NVS = partition("nvs", 2, 16_384, kind=1)
ASSETS = partition("assets", 0x82, 8 * MB, kind=1)
FACTORY = partition("factory", 0, 3 * MB)
OTA_0, OTA_1 = partition("ota_0", 0x10, 4 * MB), partition("ota_1", 0x11, 5 * MB)
OTA_2 = partition("ota_2", 0x12, 6 * MB)


def room(table: object, label: object) -> int | None:
    body = {"partition_table": table, "ota": {"label": label}}
    return read_running(VISIT, json.dumps(body).encode()).room


@pytest.mark.parametrize(
    ("table", "label", "size"),
    [
        ([NVS, OTA_0, OTA_1, ASSETS], "ota_0", 5 * MB),
        ([NVS, OTA_1, OTA_0, ASSETS], "ota_1", 4 * MB),
        ([OTA_0, OTA_1, OTA_2], "ota_1", 6 * MB),
        ([OTA_0, OTA_1, OTA_2], "ota_2", 4 * MB),
        ([FACTORY, OTA_0, OTA_1], "factory", 4 * MB),
        ([NVS, FACTORY, ASSETS], "factory", 0),
        ([OTA_0], "ota_0", 0),
        ([], "factory", 0),
        ([{"type": 0}, None, "ota_0", {"type": 0, "subtype": "16", "size": 1}], "", 0),
        (None, "ota_0", None),
        ("ota_0", "ota_0", None),
    ],
)
def test_the_room_is_the_partition_that_is_written_next(
    table: object, label: str, size: int | None
) -> None:
    assert room(table, label) == size


def test_what_a_device_states_is_read() -> None:
    body = {"application": {"elf_sha256": "0f" * 32}, "ota": {"label": "ota_0"}}
    assert read_running(VISIT, json.dumps(body).encode()) == RunningFirmware(
        device_id="aa:bb", board="a-board", chip="esp32s3", version="2.4.1", elf_sha256="0f" * 32
    )


@pytest.mark.parametrize("digest", ["", "0F" * 32, "0f" * 31, 7, None, ["0f" * 32]])
def test_what_is_no_digest_is_none(digest: object) -> None:
    body = json.dumps({"application": {"elf_sha256": digest}}).encode()
    assert read_running(VISIT, body).elf_sha256 == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "application",
                    "elf_sha256",
                    "partition_table",
                    "ota",
                    "label",
                    "type",
                    "subtype",
                    "size",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=16,
)


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_read(body: bytes) -> None:
    running = read_running(VISIT, body)
    assert (running.device_id, running.version) == ("aa:bb", "2.4.1")


async def section(offered: OfferedFirmware | None, *, busy: bool = False) -> dict[str, Any]:
    async def ask(running: RunningFirmware) -> OfferedFirmware | None:
        assert running.device_id == "aa:bb"
        return offered

    offers = FirmwareOffers(LINKS, ask, lambda: busy)
    return await offers.section(
        VISIT, b"{}", {"host": "10.0.0.9:8003"}, "10.0.0.1", trust_forwarded=False
    )


async def test_an_offer_has_a_version_and_a_link() -> None:
    made = await section(OfferedFirmware(TICKET))
    assert set(made) == {"version", "url"}
    assert made["version"] == "2.4.2"
    url = urlsplit(made["url"])
    assert url.netloc == "10.0.0.9:8003"
    assert LINKS.check(url.path.removeprefix(FIRMWARE_PATH)) == TICKET


async def test_force_is_the_number_that_the_firmware_expects() -> None:
    made = await section(OfferedFirmware(TICKET, force=True))
    assert json.loads(json.dumps(made))["force"] == 1
    assert made["force"] is not True


async def test_nothing_is_offered_without_an_image_or_while_too_many_download() -> None:
    assert await section(None) == {}
    assert await section(OfferedFirmware(TICKET), busy=True) == {}
