"""``vixio models``, as people run it."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.support import warm
from tests.support.hub import HubServer, another, hub_server, hugging_face, sha256, stalled
from vixio.cli.commands import main
from vixio.cli.model_lines import ProgressLines, size_of
from vixio.cli.status import StatusLine
from vixio.providers.downloads.progress import Progress

BIG = bytes(range(256)) * 2000
FILES = {"model.int8.onnx": BIG, "tokens.txt": b"a 0\n"}
REPO = "them/a-model"
PLACE = f"/{REPO}/resolve/main/model.int8.onnx"


def catalogue(tmp_path: Path, **changed: Any) -> Path:  # noqa: ANN401 - of any entry
    """Write a catalogue of one model."""
    files = [
        {"name": name, "size": len(data), "sha256": sha256(data)} for name, data in FILES.items()
    ]
    entry = {
        "title": "A model",
        "kind": "asr",
        "runtime": "sherpa-onnx",
        "languages": ["zh", "en"],
        "licence": {"name": "Own licence", "url": "https://example.org/licence"},
        "note": "for tests",
        "parts": [{"files": files, "sources": [{"hub": "huggingface", "repo": REPO}]}],
        **changed,
    }
    path = tmp_path / "catalogue.yaml"
    path.write_text(yaml.safe_dump({"a-model": entry}))
    return path


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in tuple(os.environ):
        if name.lower().endswith("_proxy") or name in {"HF_TOKEN", "VIXIO_CONFIG"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("VIXIO_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


@pytest.fixture
async def hub(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[HubServer]:
    async with hub_server() as server:
        hugging_face(server, REPO, FILES)
        monkeypatch.setenv("HF_ENDPOINT", server.base)
        yield server


class Ran:
    """What a command did."""

    def __init__(self, status: int | None, out: bytes, err: bytes) -> None:
        self.status, self.out, self.err = status, out.decode(), err.decode()


async def started(
    *arguments: str, before: tuple[str, ...] = (), stdin: int = subprocess.DEVNULL
) -> asyncio.subprocess.Process:
    return await warm.create_subprocess_exec(
        *(*before, sys.executable, "-m", "vixio", "models", "--catalogue", "catalogue.yaml"),
        *arguments,
        cwd=Path.cwd(),
        env=warm.around(),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


async def ended(process: asyncio.subprocess.Process) -> Ran:
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return Ran(process.returncode, out, err)


async def run(*arguments: str) -> Ran:
    return await ended(await started(*arguments))


def invoke(*arguments: str, said: str = "") -> Any:  # noqa: ANN401 - click's Result, untyped here
    return CliRunner().invoke(main, ["models", *arguments], input=said)


# ── with a hub ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
async def test_a_model_is_fetched_and_its_settings_are_told(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    done = await run("get", "a-model", "--yes")
    assert done.status == 0, done.err
    size = "512 kB"
    for told in ("a-model: A model", "Own licence, https://example.org/licence", size, "for tests"):
        assert told in done.err
    assert "100 %" in done.err
    assert (
        f"a-model is in {tmp_path}/models/a-model ({size}, verified by the catalogue's digests)"
        in done.out
    )
    assert "\n  asr: {name: sherpa-onnx, folder: a-model}\n" in done.out
    assert "hf_secret" not in done.out + done.err
    assert {each.headers.get("authorization") for each in hub.requests} == {"Bearer hf_secret"}

    again = await run("get", "a-model", "--json")  # it is there: nothing is asked
    assert again.status == 0, again.err
    (entry,) = json.loads(again.out)
    assert entry["settings"] == {"asr": {"name": "sherpa-onnx", "folder": "a-model"}}
    assert entry["installed"]["files"]["tokens.txt"]["checked"] == "catalogue"
    assert len(hub.requests) == len(FILES)

    elsewhere = await run("get", "a-model", "--yes", "--folder", "other", "--from", "models")
    assert elsewhere.status == 0, elsewhere.err
    assert f"asr: {{name: sherpa-onnx, folder: {tmp_path}/other/a-model}}" in elsewhere.out
    assert len(hub.requests) == len(FILES)


@pytest.mark.slow
async def test_ctrl_c_and_once_more(hub: HubServer, tmp_path: Path) -> None:
    catalogue(tmp_path)
    hub.fail(PLACE, stalled(hub, 200_000))
    process = await started("get", "a-model", "--yes")
    assert process.stderr is not None
    async with asyncio.timeout(60):
        await hub.reached.wait()
        while not re.search(rb" [1-9]\d? % of 512 kB", await process.stderr.readline()):
            pass  # until some bytes have arrived
    process.send_signal(signal.SIGINT)
    stopped = await ended(process)
    assert stopped.status == 130
    assert stopped.err.splitlines()[-1] == (
        "vixio: stopped; what has arrived is kept, the same command goes on"
    )
    assert "Traceback" not in stopped.err
    assert not (tmp_path / "models" / "a-model").exists()
    done = await run("get", "a-model", "--yes")
    assert done.status == 0, done.err
    assert "have arrived" in done.err
    assert hub.requests[1].headers["range"].startswith("bytes=")


@pytest.mark.slow
async def test_ctrl_c_at_the_question(tmp_path: Path) -> None:
    catalogue(tmp_path)
    here, there = pty.openpty()
    try:
        process = await started("get", "a-model", stdin=there)
        assert process.stderr is not None
        async with asyncio.timeout(60):
            await process.stderr.readuntil(b"[y/N]:")
        ending = asyncio.create_task(ended(process))
        while not ending.done():
            # Once more, as people do: one that comes just before the system's read is kept there.
            process.send_signal(signal.SIGINT)
            await asyncio.wait([ending], timeout=5)
        stopped = ending.result()
    finally:
        os.close(here)
        os.close(there)
    assert stopped.status == 1
    assert "Aborted!" in stopped.err
    assert "Traceback" not in stopped.err


@pytest.mark.slow
async def test_when_no_source_works(hub: HubServer, tmp_path: Path) -> None:
    catalogue(tmp_path)
    hub.fail(PLACE, another)
    failed = await run("get", "a-model", "--yes")
    assert failed.status == 2
    last = failed.err.splitlines()[-1]
    assert last.startswith("vixio: a-model: no source works (127.0.0.1:")
    assert "another file than expected: it has the SHA-256" in last
    assert not (tmp_path / "models" / "a-model").exists()


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare to mount a small disk with")
@pytest.mark.slow
async def test_a_full_disk(hub: HubServer, tmp_path: Path) -> None:
    """The catalogue knows too little to see it coming."""
    mount = tmp_path / "models"
    mount.mkdir()
    small = f"mount -t tmpfs -o size=300k tmpfs {mount}"
    before = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
    may = await asyncio.create_subprocess_exec(*before, small, stderr=subprocess.DEVNULL)
    if await may.wait():
        pytest.skip("this machine does not let users mount a small disk of their own")
    catalogue(
        tmp_path,
        parts=[
            {
                "files": [{"name": "model.onnx", "about": 200_000}],
                "sources": [{"hub": "github", "repo": REPO, "revision": "tag"}],
            }
        ],
    )
    hub.put(f"/{REPO}/releases/download/tag/model.onnx", BIG)
    script = f'{small} && exec "$0" "$@"'
    process = await started(
        "get", "a-model", "--yes", before=("env", f"VIXIO_GITHUB={hub.base}", *before, script)
    )
    failed = await ended(process)
    assert failed.status == 2, failed.err
    assert f"vixio: the disk of {mount}" in failed.err
    assert "is full; free some space" in failed.err


@pytest.mark.slow
async def test_a_proxy_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue(tmp_path)
    monkeypatch.setenv("HTTP_PROXY", "nonsense://x")
    monkeypatch.setenv("HF_ENDPOINT", "http://huggingface.test")
    failed = await run("get", "a-model", "--yes")
    assert failed.status == 2
    assert "the proxy x of HTTP_PROXY is nonsense, supported: http" in failed.err


@pytest.mark.slow
async def test_the_proxy_of_the_environment_is_used(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub stands in for it: a proxy gets the whole address."""
    catalogue(tmp_path)
    monkeypatch.setenv("HTTP_PROXY", hub.base)
    monkeypatch.setenv("HF_ENDPOINT", "http://huggingface.test")
    done = await run("get", "a-model", "--yes")
    assert done.status == 0, done.err
    assert {request.headers["host"] for request in hub.requests} == {"huggingface.test"}


# ── without ──────────────────────────────────────────────────────────────────────────────────────


def placed(tmp_path: Path) -> None:
    """Install the model from a folder."""
    stick = tmp_path / "stick"
    stick.mkdir()
    for name, data in FILES.items():
        (stick / name).write_bytes(data)
    done = invoke("--catalogue", "catalogue.yaml", "get", "a-model", "--from", "stick", "--yes")
    assert done.exit_code == 0, done.stderr


@pytest.mark.slow
def test_the_list(tmp_path: Path) -> None:
    shown = invoke()
    assert shown.exit_code == 0
    assert "  sense-voice" in shown.stdout
    assert "240 MB" in shown.stdout
    assert f"none fetched, in {tmp_path}/models" in shown.stdout
    assert shown.stdout == invoke("list").stdout
    catalogue(tmp_path)
    placed(tmp_path)
    line = next(x for x in invoke("--catalogue", "catalogue.yaml").stdout.splitlines() if "*" in x)
    assert line.split()[:3] == ["*", "a-model", "512"]
    shown = invoke()
    assert "1 fetched (*), 512 kB" in shown.stdout
    assert "not in the catalogue\n* a-model" in shown.stdout
    entries = json.loads(invoke("--json").stdout)
    assert {"name", "bytes", "licence", "languages", "settings", "installed"} <= entries[0].keys()


def test_no_is_no(tmp_path: Path) -> None:
    catalogue(tmp_path)
    options = ("get", "a-model", "--catalogue", "catalogue.yaml")
    assert invoke(*options, said="n\n").exit_code == 1
    assert "Fetch it (512 kB)?" in invoke(*options, said="\n").stderr
    nobody = invoke(*options)
    assert nobody.exit_code == 2
    assert "to fetch a-model without asking: --yes" in nobody.stderr
    assert not (tmp_path / "models" / "a-model").exists()


def test_verify(tmp_path: Path) -> None:
    nothing = invoke("verify")
    assert (nothing.exit_code, "no model is installed" in nothing.stdout) == (0, True)
    catalogue(tmp_path)
    placed(tmp_path)
    whole = invoke("verify")
    assert (whole.exit_code, whole.stdout) == (0, "a-model is whole (2 files, 512 kB)\n")
    (tmp_path / "models" / "a-model" / "tokens.txt").write_bytes(b"b 0\n")
    broken = invoke("verify", "a-model")
    assert broken.exit_code == 1
    assert "a-model: tokens.txt has other content than when it was fetched" in broken.stdout
    assert "to mend it: vixio models get a-model" in broken.stdout
    assert json.loads(invoke("verify", "--json").stdout)["a-model"].keys() == {"tokens.txt"}
    unknown = invoke("verify", "other")
    assert (unknown.exit_code, "other is not installed" in unknown.stderr) == (2, True)


def test_remove(tmp_path: Path) -> None:
    catalogue(tmp_path)
    placed(tmp_path)
    (tmp_path / "vixio.yaml").write_text("asr: {name: sherpa-onnx, folder: a-model}\n")
    kept = invoke("remove", "a-model", said="n\n")
    assert kept.exit_code == 1
    assert "the settings use a-model: asr in ./vixio.yaml" in kept.stderr
    gone = invoke("remove", "a-model", "--yes")
    assert gone.exit_code == 0
    assert gone.stdout == "a-model is removed: 512 kB are free again\n"
    assert not (tmp_path / "models" / "a-model").exists()
    nothing = invoke("remove", "a-model", "--yes")
    assert (nothing.exit_code, "a-model is not installed" in nothing.stderr) == (2, True)
    assert invoke("remove", "../stick", "--yes").exit_code == 2
    assert (tmp_path / "stick").exists()


def test_an_unfinished_one_can_be_removed(tmp_path: Path) -> None:
    part = tmp_path / "models" / ".partial" / "a-model" / "files" / "model.onnx.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(bytes(9000))
    gone = invoke("remove", "a-model", said="y\n")
    assert "Remove the unfinished a-model (9 kB)?" in gone.stderr
    assert gone.exit_code == 0
    assert not part.exists()


def test_a_name_that_there_is_not() -> None:
    unknown = invoke("get", "sensevoice", "--yes")
    assert unknown.exit_code == 2
    assert unknown.stderr.startswith("vixio: there is no model 'sensevoice' (near: sense-voice")


# ── lines ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 kB"), (1, "1 kB"), (999_499, "999 kB"), (239_549_735, "240 MB"), (4.2e9, "4.2 GB")],
)
def test_sizes(count: float, shown: str) -> None:
    assert size_of(int(count)) == shown


class Lines(StatusLine):
    """Keeps what is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []

    def show(self, text: str) -> None:
        self.shown.append(text)

    def line(self, text: str) -> None:
        self.shown.append(text)


def test_progress_on_a_terminal_has_speed_and_time() -> None:
    lines, now = Lines(), 0.0
    show = ProgressLines(lines, live=True, clock=lambda: now)
    for second in range(11):
        now = float(second)
        for fraction in (0, 0.1):  # changes that are too quick to be read are not shown
            now = second + fraction
            done = min(100_000_000, int(now * 10_000_000))
            show(Progress("m", "downloading", done, 100_000_000, "host"))
    assert lines.shown[0] == "m: 0 % of 100 MB, from host"
    assert lines.shown[5] == "m: 50 % of 100 MB, at 10 MB/s, 5 s left, from host"
    assert lines.shown[-1].startswith("m: 100 % of 100 MB")
    assert len(lines.shown) == 11


def test_progress_elsewhere_is_a_line_for_each_tenth() -> None:
    lines = Lines()
    show = ProgressLines(lines, live=False)
    show(Progress("m", "asking", text="host"))
    show(Progress("m", "asking", text="host"))
    show(Progress("m", "trouble", text="host: no connection"))
    for done in range(1001):
        show(Progress("m", "downloading", done * 1000, 1_000_000, "host"))
    for done in range(1001):
        show(Progress("m", "checking", done * 1000, 1_000_000))
    assert lines.shown[:2] == ["m: asking host", "m: host: no connection"]
    assert len([line for line in lines.shown if "checking" not in line]) == 2 + 11
    assert lines.shown[-1] == "m: checking 1 MB"
    assert len(lines.shown) == 2 + 11 + 1
