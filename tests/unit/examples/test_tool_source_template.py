"""The template of a tool source: installed as third parties install theirs, found and used."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.processes import START_TIMEOUT, running
from tests.support import patient, warm
from tests.support.waiting import until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = ROOT / "examples" / "tool_source_template"
PLUGINS = ("-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin", "-p", "pytest_timeout")
"""Those of the template; all others that are installed here take a second to import."""
VIXIO = Path(sys.executable).with_name("vixio")
SETTINGS = """
server: {{host: 127.0.0.1, port: 0, http_port: 0}}
memory: {{store: none}}
tools:
  sources:
    - type: sheet
      name: house
      {option}
      refresh: 0.1
"""


def environment(site: Path, config: Path) -> dict[str, str]:
    path = [str(site), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, path)), "VIXIO_CONFIG": str(config)}


def configured(directory: Path, option: str) -> Path:
    config = directory / "vixio.yaml"
    # One process recognises all that is said here.
    others = patient.YAML.replace('"pocketsphinx"', '"pocketsphinx", "workers": 1')
    config.write_text(SETTINGS.format(option=option) + others, encoding="utf-8")
    return config


def vixio(site: Path, config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**warm.kept(), **environment(site, config)}
    return warm.run([str(VIXIO), *arguments], cwd=config.parent, env=env, timeout=150)


def run(site: Path, config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        capture_output=True,
        text=True,
        timeout=150,
        cwd=config.parent,
        env={
            **os.environ,
            **environment(site, config),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        check=False,
    )


def test_its_own_tests_pass_where_it_is_installed(site: Path, tmp_path: Path) -> None:
    done = run(
        site, tmp_path / "none", "-m", "pytest", "-q", *PLUGINS,
        "--rootdir", str(TEMPLATE), "-c", str(TEMPLATE / "pyproject.toml"), str(TEMPLATE / "tests"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout.splitlines()[-1]
    assert "skipped" not in done.stdout.splitlines()[-1]


def test_a_configuration_that_uses_it_is_checked(site: Path, tmp_path: Path) -> None:
    (tmp_path / "house.txt").write_text("pool temperature: 24 degrees\n", encoding="utf-8")
    done = vixio(site, configured(tmp_path, "file: house.txt"), "check")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "1 house (sheet)" in lines["tools"]
    assert done.returncode == 0, done.stdout

    done = vixio(site, configured(tmp_path, "file: none.txt"), "check")
    assert "tools.sources[0].file: cannot be read" in done.stdout
    assert "0 house (sheet)" in done.stdout
    assert done.returncode == 2

    wrong = configured(tmp_path, "file: house.txt\n      fil: x")
    done = vixio(site, wrong, "check")
    assert "vixio.yaml:9: tools.sources[0].fil: there is no such key, did you mean" in done.stdout


async def test_a_device_uses_it_and_follows_its_changes(site: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "house.txt"
    sheet.write_text("pool temperature: 24 degrees\n", encoding="utf-8")
    config = configured(tmp_path, f"file: {sheet}")
    async with running((VIXIO, "serve"), tmp_path, environment(site, config)) as server:
        (ota,) = re.findall(r"http://\S+", await server.line("OTA URL"))
        # The words are recognised over the tools that there are when they have been said.
        await until(
            lambda: server.count("all providers are ready"), what="the tools", seconds=START_TIMEOUT
        )
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
            reply = await device.ask("what is the pool temperature")
            assert reply.text == "The pool temperature is 24 degrees.", "".join(server.err)
            new = sheet.with_suffix(".new")
            new.write_text("opening hours: nine to five\n", encoding="utf-8")
            new.replace(sheet)
            async with asyncio.timeout(30):
                while (await device.type_text("what is the opening hours")).text != (
                    "The opening hours is nine to five."
                ):
                    pass  # the sheet is read in a moment
            gone = await device.type_text("what is the pool temperature")
            assert "24" not in gone.text
            assert_nothing_wrong(device)
        await server.stop(signal.SIGINT)
        assert server.process.returncode == 0
    assert "Traceback" not in "".join(server.err)


def test_nothing_is_left_in_the_source_tree(site: Path) -> None:
    assert {path.name for path in TEMPLATE.iterdir()} <= {
        "README.md",
        "pyproject.toml",
        "tests",
        "vixio_sheet",
    }
