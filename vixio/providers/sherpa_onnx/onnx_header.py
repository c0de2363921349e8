"""The header of an ONNX file: metadata, inputs and outputs. Weights are skipped, not read.

The file is a protobuf message, ``ModelProto`` of ``onnx/onnx.proto``. Reading its few outer fields
takes milliseconds for a model of any size, and needs no package.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

_GRAPH, _METADATA = 7, 14
"""Fields of ModelProto: ``graph``, ``metadata_props``."""
_INPUT, _OUTPUT = 11, 12
"""Fields of GraphProto."""
_NAME, _KEY, _VALUE = 1, 1, 2
"""``name`` of ValueInfoProto; ``key`` and ``value`` of StringStringEntryProto."""
_MAX_TEXT = 1 << 20
"""Bytes of one name or value. The longest value in use, the normalisation, has about 10 KB."""


class OnnxHeaderError(ValueError):
    """The file is not an ONNX model, or is truncated."""


@dataclass(frozen=True, slots=True)
class OnnxHeader:
    """``metadata``: the model's properties. ``inputs``, ``outputs``: their names, in order."""

    metadata: dict[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


def read_header(path: Path) -> OnnxHeader:
    """Read the header of the model at ``path``. Blocking. Raises OnnxHeaderError, OSError."""
    metadata: dict[str, str] = {}
    inputs: list[str] = []
    outputs: list[str] = []
    with path.open("rb") as file:
        end = path.stat().st_size
        graphs = 0
        for number, start, stop in _fields(file, 0, end):
            if number == _METADATA:
                entry = dict(_texts(file, start, stop))
                metadata[entry.get(_KEY, "")] = entry.get(_VALUE, "")
            elif number == _GRAPH:
                graphs += 1
                for inner, begin, until in _fields(file, start, stop):
                    if inner in {_INPUT, _OUTPUT}:
                        name = dict(_texts(file, begin, until)).get(_NAME, "")
                        (inputs if inner == _INPUT else outputs).append(name)
    if not graphs:
        raise OnnxHeaderError(f"{path.name} is no ONNX model")
    return OnnxHeader(metadata, tuple(inputs), tuple(outputs))


def _fields(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, start and end of each length-delimited field between ``start`` and ``end``."""
    position = start
    while position < end:
        file.seek(position)
        tag = _varint(file)
        kind = tag & 7
        if kind == 0:
            _varint(file)
            position = file.tell()
        elif kind in {1, 5}:
            position = file.tell() + (8 if kind == 1 else 4)
        elif kind == 2:
            length = _varint(file)
            begin = file.tell()
            position = begin + length
            if position > end:
                raise OnnxHeaderError("the file is cut off or no ONNX model")
            yield tag >> 3, begin, position
        else:
            raise OnnxHeaderError("the file is no ONNX model")
    if position != end:
        raise OnnxHeaderError("the file is cut off or no ONNX model")


def _texts(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, str]]:
    for number, begin, stop in _fields(file, start, end):
        if number in {_KEY, _VALUE} and stop - begin <= _MAX_TEXT:
            file.seek(begin)
            yield number, file.read(stop - begin).decode("utf-8", "replace")


def _varint(file: BinaryIO) -> int:
    value = shift = 0
    while shift < 64:
        byte = file.read(1)
        if not byte:
            raise OnnxHeaderError("the file is cut off or no ONNX model")
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
        shift += 7
    raise OnnxHeaderError("the file is no ONNX model")
