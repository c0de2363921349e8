"""The header of a model is read without its weights, and invalid files are errors."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.providers.sherpa_onnx.onnx_files import onnx_bytes, part
from vixio.providers.sherpa_onnx.onnx_header import OnnxHeaderError, read_header
from vixio.providers.silero_vad.model import find_model


def test_metadata_inputs_and_outputs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_bytes({"model_type": "a", "mean": "1,2"}, ("x", "n"), ("y", "z", "w")))
    header = read_header(path)
    assert header.metadata == {"model_type": "a", "mean": "1,2"}
    assert header.inputs == ("x", "n")
    assert header.outputs == ("y", "z", "w")


def test_a_real_model_is_read() -> None:
    session = onnxruntime.InferenceSession(str(find_model()))
    header = read_header(find_model())
    assert header.inputs == tuple(each.name for each in session.get_inputs())
    assert header.outputs == tuple(each.name for each in session.get_outputs())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04 an archive that was not unpacked",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
        b"\xff" * 100,
        onnx_bytes({"a": "b"})[:-3],
        onnx_bytes({})[:40_000],
        part(14, b""),  # no graph
    ],
)
def test_what_is_no_model_is_an_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(OnnxHeaderError):
        read_header(path)


@given(st.binary(max_size=300))
def test_any_bytes_end(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.onnx"
    path.write_bytes(data)
    try:
        read_header(path)
    except OnnxHeaderError:
        pass
