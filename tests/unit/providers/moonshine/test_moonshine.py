"""Moonshine without its package: symbols, settings and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers import registry
from vixio.providers.inference import packaged
from vixio.providers.moonshine.model import Tokenizer
from vixio.providers.moonshine.provider import MoonshineASRProvider, MoonshineSettings


def written(symbols: list[bytes]) -> bytes:
    """Return the symbols in the file's format."""
    data = b""
    for symbol in symbols:
        length = len(symbol)
        data += bytes([length] if length < 128 else [length % 128 + 128, length // 128]) + symbol
    return data


def test_symbols_become_text() -> None:
    long = ("▁" + "ab" * 100).encode()
    symbols = [b"<unk>", b"<s>", b"</s>", b"\xc3", b"\xa9", "▁caf".encode(), long, b"<<ST_1>>", b""]
    tokenizer = Tokenizer(written(symbols))
    assert len(tokenizer) == len(symbols)
    assert tokenizer.text([1, 5, 3, 4, 6, 7, 8, 2, 99]) == "café " + "ab" * 100
    assert tokenizer.text([3]) == "", "half a character"


@given(st.lists(st.binary(max_size=300)))
def test_every_symbol_is_read_back(symbols: list[bytes]) -> None:
    assert len(Tokenizer(written(symbols))) == len(symbols)


@pytest.mark.parametrize("data", [b"\x05abc", b"\x80", b"\x81\x02abc"])
def test_a_file_that_is_cut_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="cut short"):
        Tokenizer(data)


def test_the_registry_knows_it() -> None:
    assert registry.resolve("asr", "moonshine").settings_model is MoonshineSettings
    with pytest.raises(ValidationError):
        MoonshineSettings.model_validate({"language": "zh"})


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda _: None)
    with pytest.raises(ProviderUnavailable) as caught:
        MoonshineASRProvider()
    said = str(caught.value)
    assert said.startswith("moonshine: the package moonshine-voice==0.0.49 is missing: ")
    assert said.endswith(how_to_install("moonshine"))


async def test_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    asr = MoonshineASRProvider(MoonshineSettings(folder=tmp_path))
    with pytest.raises(ProviderUnavailable, match=r"has no encoder_model\.ort or"):
        await asr.start()
    for name in ("encoder_model.onnx", "decoder_model_merged.onnx", "tokenizer.bin"):
        (tmp_path / name).write_bytes(b"\1a")
    with pytest.raises(ProviderUnavailable, match="cannot be used") as caught:
        await asr.start()
    assert "\n" not in str(caught.value)
    await asr.close()
