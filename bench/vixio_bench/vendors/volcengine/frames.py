"""Frames of Volcengine's services, as its documents have them."""

from __future__ import annotations

import gzip
import json
import struct


def full_server(
    payload: bytes, *, flags: int = 0, sequence: int = 0, packed: bool = False
) -> bytes:
    """Return a recogniser's answer: ``flags`` & 1: with a sequence, & 2: the last."""
    body = gzip.compress(payload) if packed else payload
    number = struct.pack(">i", sequence) if flags & 1 else b""
    return bytes((0x11, 0x90 | flags, 0x11 if packed else 0x10, 0)) + number + _sized(body)


def error_frame(code: int, text: str) -> bytes:
    """Return a frame of type 15."""
    body = json.dumps({"error": text}).encode()
    return b"\x11\xf0\x10\x00" + struct.pack(">I", code) + _sized(body)


def event_frame(
    event: int, name: str, payload: bytes, *, sound: bool = False, length: int | None = None
) -> bytes:
    """Return an event of the bidirectional voice; ``name``: of the session or the connection.

    ``length``: what the frame says of its payload, if not the bytes.
    """
    head = b"\x11\xb4\x00\x00" if sound else b"\x11\x94\x10\x00"
    size = struct.pack(">I", len(payload) if length is None else length)
    return head + struct.pack(">i", event) + _sized(name.encode()) + size + payload


def client_frame(data: bytes) -> tuple[int, int, int, str, bytes]:
    """Return kind, flags, event, session and payload of what a client sends.

    ``flags`` & 1: a sequence comes before the payload, which the vendor's own examples send.
    """
    kind, flags, packing = data[1] >> 4, data[1] & 15, data[2] & 15
    at, event, session = 4, 0, ""
    if flags & 4:
        (event,) = struct.unpack_from(">i", data, at)
        at += 4
        if event >= 100:
            name, at = _take(data, at)
            session = name.decode()
    elif flags & 1:
        at += 4
    payload, at = _take(data, at)
    if at != len(data):
        raise ValueError("more than a frame")
    return kind, flags, event, session, gzip.decompress(payload) if packing else payload


def _sized(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _take(data: bytes, at: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from(">I", data, at)
    if at + 4 + length > len(data):
        raise ValueError("cut short")
    return data[at + 4 : at + 4 + length], at + 4 + length
