"""ONNX files that consist of a header, without weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def part(number: int, content: bytes) -> bytes:
    """Return a length-delimited field of a protobuf message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def onnx_bytes(
    metadata: Mapping[str, str], inputs: Iterable[str] = ("x",), outputs: Iterable[str] = ("y",)
) -> bytes:
    weights = part(5, b"\x00" * 70_000)
    graph = part(2, b"graph") + weights
    graph += b"".join(part(11, part(1, name.encode())) for name in inputs)
    graph += b"".join(part(12, part(1, name.encode())) for name in outputs)
    properties = b"".join(
        part(14, part(1, key.encode()) + part(2, value.encode())) for key, value in metadata.items()
    )
    return varint(1 << 3) + varint(8) + part(2, b"tests") + part(7, graph) + properties


def model(path: Path, **metadata: object) -> Path:
    path.write_bytes(onnx_bytes({key: str(value) for key, value in metadata.items()}))
    return path
