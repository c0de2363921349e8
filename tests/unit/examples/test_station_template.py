"""The template of a station: installed as third parties install theirs, found and used."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.processes import START_TIMEOUT, running
from tests.support import patient, warm
from tests.support.waiting import until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = ROOT / "examples" / "station_template"
PLUGINS = ("-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin", "-p", "pytest_timeout")
"""Those of the template; all others that are installed here take a second to import."""
VIXIO = Path(sys.executable).with_name("vixio")
SETTINGS = """
server: {{host: 127.0.0.1, port: 0, http_port: 0}}
memory: {{store: none}}
stations:
  - name: words
    {option}
"""


def environment(site: Path, config: Path) -> dict[str, str]:
    path = [str(site), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, path)), "VIXIO_CONFIG": str(config)}


def configured(directory: Path, option: str) -> Path:
    config = directory / "vixio.yaml"
    config.write_text(SETTINGS.format(option=option) + patient.YAML, encoding="utf-8")
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


def test_a_mistake_in_its_options_ends_the_start_with_one_line(site: Path, tmp_path: Path) -> None:
    done = vixio(site, configured(tmp_path, "replac: {a: b}"), "serve")
    assert "vixio.yaml:6: stations[0].replac: there is no such key, did you mean" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2

    done = vixio(site, configured(tmp_path, "after: asr\n    replace: {a: b}"), "serve")
    assert "stations[0].after: words works on the reply" in done.stderr
    assert done.returncode == 2


async def test_a_device_hears_and_shows_the_other_words(site: Path, tmp_path: Path) -> None:
    config = configured(tmp_path, "replace: {volume: loudness, percent: per cent}")
    async with running((VIXIO, "serve"), tmp_path, environment(site, config)) as server:
        (ota,) = re.findall(r"http://\S+", await server.line("OTA URL"))
        await until(
            lambda: server.count("all providers are ready"),
            what="the providers",
            seconds=START_TIMEOUT,
        )
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
            reply = await device.ask("set the volume to thirty percent")
            assert reply.stt == "set the volume to thirty percent"
            assert device.volume == 30
            assert reply.text == "The loudness is now 30 per cent.", "".join(server.err)
            assert_played_well(reply)
            assert_nothing_wrong(device)
        await server.stop(signal.SIGINT)
        assert server.process.returncode == 0
    assert "Traceback" not in "".join(server.err)


def test_nothing_is_left_in_the_source_tree(site: Path) -> None:
    assert {path.name for path in TEMPLATE.iterdir()} <= {
        "README.md",
        "pyproject.toml",
        "tests",
        "vixio_words",
    }
