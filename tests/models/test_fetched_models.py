"""What `vixio models` installs is what the provider loads, by its name alone."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.models.needs import needs
from tests.models.tiny_sherpa import make_sense_voice
from tests.support.hub import github, hub_server, hugging_face, modelscope
from vixio.providers.downloads.catalogue import HubName, Model, load_catalogue
from vixio.providers.downloads.get import get
from vixio.providers.downloads.hubs import Hubs, Mirror
from vixio.providers.downloads.store import ModelStore
from vixio.providers.downloads.web import Patience, Web
from vixio.providers.sherpa_onnx.asr import SherpaASRProvider
from vixio.providers.sherpa_onnx.asr_settings import SherpaASRSettings
from vixio.testing.contract.asr import ON, hear, utterances

pytestmark = needs("sherpa", "sherpa_onnx", "onnx")


def unpinned(model: Model) -> Model:
    """The entry, without the digests and sizes of the real files."""
    described = model.model_dump(exclude_none=True)
    for part in described["parts"]:
        for each in (*part["files"], *part["sources"]):
            each.pop("sha256", None)
            each.pop("size", None)
    return Model.model_validate(described)


def packed(folder: Path, top: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:bz2") as archive:
        archive.add(folder, arcname=top)
    return out.getvalue()


@pytest.mark.parametrize("name", ["huggingface", "modelscope", "github"])
async def test_chinese_ears_after_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: HubName
) -> None:
    monkeypatch.setenv("VIXIO_MODELS", str(tmp_path / "models"))
    model = unpinned(load_catalogue()["sense-voice"])
    (source,) = (each for each in model.parts[0].sources if each.hub == name)
    made = make_sense_voice(tmp_path / "made")
    data = {file.name: (made / file.name).read_bytes() for file in model.files}
    async with hub_server() as hub, Web(Patience(tries=1)) as web:
        if name == "huggingface":
            hugging_face(hub, source.repo, data, revision=source.revision)
        elif name == "modelscope":
            modelscope(hub, source.repo, data, revision=source.revision)
        else:
            assert source.archive is not None
            archive = packed(made, source.folder)
            github(hub, source.repo, source.revision, {source.archive: archive})
        hubs = Hubs((Mirror(name, hub.base),), github_api=hub.base)
        await get(model, ModelStore(tmp_path / "models"), web, hubs)
    section = model.settings(model.name)["asr"]
    assert section == {"name": "sherpa-onnx", "folder": "sense-voice"}
    asr = SherpaASRProvider(SherpaASRSettings(folder=section["folder"]))
    await asr.start()
    try:
        assert (await hear(asr, utterances()[ON])).text
    finally:
        await asr.close()
