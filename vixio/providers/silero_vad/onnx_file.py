"""The little of the ONNX format that is needed to take a model's weights and to write another.

A model is a protocol buffer, ``ModelProto`` of ``onnx.proto3`` (https://github.com/onnx/onnx); the
numbers below are those of its fields. The package ``onnx`` does the same with 18 MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Shape = Sequence[int | str]
"""Of an input or output; a name stands for a dimension that differs from call to call."""

IR_VERSION = 9
OPSET = 18

# TensorProto.DataType
_TYPES = {"float32": 1, "int16": 5, "int32": 6, "int64": 7}
# AttributeProto.AttributeType
_INT, _STRING = 2, 3


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def read_weights(path: Path) -> dict[str, Floats]:
    """Return the float tensors of a model by their names. Raises OSError; ValueError: no model."""
    weights: dict[str, Floats] = {}
    try:
        for graph in _parts(memoryview(path.read_bytes()), 7):
            for tensor in _parts(graph, 5):
                fields = list(_fields(tensor))
                if (2, _TYPES["float32"]) not in fields:
                    continue
                shape = [
                    value for number, value in fields if number == 1 and isinstance(value, int)
                ]
                [name], [raw] = _parts(tensor, 8), _parts(tensor, 9)
                weights[bytes(name).decode()] = np.frombuffer(raw, "<f4").reshape(shape)
    except (IndexError, ValueError) as error:
        raise ValueError(f"{path.name} is not a model in the ONNX format") from error
    return weights


def _parts(message: memoryview, wanted: int) -> Iterator[memoryview]:
    for number, value in _fields(message):
        if number == wanted and isinstance(value, memoryview):
            yield value


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield number and value of each field. Raises IndexError, ValueError if it is no message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:
                value, at = _varint(message, at)
                yield key >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, at = _varint(message, at)
            case 5:
                size = 4
            case kind:
                raise ValueError(f"unknown wire type {kind}")
        if at + size > len(message):
            raise IndexError("the message is cut short")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


class Graph:
    """A model in the making. Values are named by strings; methods return the name they made."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, bytes]] = []
        self._made = 0

    def constant(self, array: npt.NDArray[np.generic] | Sequence[int]) -> str:
        """Add a constant: weights, or integers (int64) such as a shape."""
        values = np.ascontiguousarray(array) if isinstance(array, np.ndarray) else np.array(array)
        name = self._name()
        dimensions = [(1, size) for size in values.shape]
        kind = (2, _TYPES[values.dtype.name])
        self._parts.append((5, _message(*dimensions, kind, (8, name), (9, values.tobytes()))))
        return name

    def add(self, operator: str, *inputs: str, **attributes: int | str) -> str:
        """Add an operator with one output."""
        return self.split(operator, 1, *inputs, **attributes)[0]

    def split(self, operator: str, number: int, *inputs: str, **attributes: int | str) -> list[str]:
        """Add an operator with so many outputs. An input that is left out is ``""``."""
        outputs = [self._name() for _ in range(number)]
        fields: list[tuple[int, int | str | bytes]] = [(1, name) for name in inputs]
        fields += [(2, name) for name in outputs]
        fields.append((4, operator))
        for name, value in attributes.items():
            kind, field = (_INT, 3) if isinstance(value, int) else (_STRING, 4)
            fields.append((5, _message((1, name), (field, value), (20, kind))))
        self._parts.append((1, _message(*fields)))
        return outputs

    def input(self, name: str, kind: str, shape: Shape) -> str:
        """Declare an input of a numpy type."""
        self._parts.append((11, _value(name, kind, shape)))
        return name

    def output(self, name: str, value: str, kind: str, shape: Shape) -> None:
        """Declare ``value`` an output, under a name for the caller."""
        self._parts.append((1, _message((1, value), (2, name), (4, "Identity"))))
        self._parts.append((12, _value(name, kind, shape)))

    def model(self) -> bytes:
        """Return the file."""
        graph = _message((2, "network"), *self._parts)
        return _message((1, IR_VERSION), (7, graph), (8, _message((1, ""), (2, OPSET))))

    def _name(self) -> str:
        self._made += 1
        return f"v{self._made}"


def _value(name: str, kind: str, shape: Shape) -> bytes:
    sizes = [_message((1 if isinstance(size, int) else 2, size)) for size in shape]
    tensor = _message((1, _TYPES[kind]), (2, _message(*((1, size) for size in sizes))))
    return _message((1, name), (2, _message((1, tensor))))


def _message(*fields: tuple[int, int | str | bytes]) -> bytes:
    parts: list[bytes] = []
    for number, value in fields:
        if isinstance(value, int):
            parts += (_encoded(number << 3), _encoded(value))
        else:
            data = value.encode() if isinstance(value, str) else value
            parts += (_encoded(number << 3 | 2), _encoded(len(data)), data)
    return b"".join(parts)


def _encoded(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative number has all its 64 bits
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
