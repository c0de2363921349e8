"""The QR code of the set-up: what a terminal shows is read again by a decoder."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
import zxingcpp

from vixio.cli.setup.arrival import qr_code

URL = "http://192.168.178.20:8003/xiaozhi/ota/"
UPPER = {"█": 255, "▀": 255, "▄": 0, " ": 0}
LOWER = {"█": 255, "▀": 0, "▄": 255, " ": 0}
PIXELS = 8


def seen(shown: str) -> np.ndarray:
    """Return what a camera sees of a dark terminal, 8-bit grey: two modules a character."""
    lines = shown.split("\n")
    width = max(map(len, lines))
    rows = [[half[char] for char in line.ljust(width)] for line in lines for half in (UPPER, LOWER)]
    return np.kron(np.array(rows, np.uint8), np.ones((PIXELS, PIXELS), np.uint8))


@pytest.fixture(autouse=True)
def _terminal_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))


@pytest.mark.parametrize("url", [URL, "https://[fd00::1]:8003/xiaozhi/ota/", URL + "a" * 200])
def test_a_camera_reads_the_address(url: str) -> None:
    assert [each.text for each in zxingcpp.read_barcodes(seen(qr_code(url)))] == [url]


def test_it_fits_into_a_terminal() -> None:
    lines = qr_code(URL).split("\n")
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 40


def test_a_terminal_without_blocks_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert qr_code(URL) == ""
