"""The template for third parties: installed as they install theirs, it is found and passes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import warm

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = ROOT / "examples" / "provider_template"
PLUGINS = ("-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin", "-p", "pytest_timeout")
"""Those of the template; all others that are installed here take a second to import."""


def search_path(site: Path) -> str:
    path = [str(site), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(filter(None, path))


def run(site: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "VIXIO_CONFIG"}
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        capture_output=True,
        text=True,
        timeout=150,
        cwd=cwd,
        env={**kept, "PYTHONPATH": search_path(site), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
    )


def vixio(site: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**warm.kept(), "PYTHONPATH": search_path(site)}
    command = [str(Path(sys.executable).with_name("vixio")), *arguments]
    return warm.run(command, cwd=cwd, env=env, timeout=150)


def test_its_own_tests_pass_where_it_is_installed(site: Path, tmp_path: Path) -> None:
    done = run(
        site, tmp_path, "-m", "pytest", "-q", *PLUGINS,
        "--rootdir", str(TEMPLATE), "-c", str(TEMPLATE / "pyproject.toml"), str(TEMPLATE / "tests"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout.splitlines()[-1]
    assert "skipped" not in done.stdout.splitlines()[-1]


def test_a_configuration_that_names_it_is_checked(site: Path, tmp_path: Path) -> None:
    config = tmp_path / "vixio.yaml"
    server = "server: {host: 127.0.0.1, port: 0, http_port: 0}\n"
    config.write_text(f"{server}tts:\n  name: tones\n  letter_ms: 80\n")
    done = vixio(site, tmp_path, "check")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert lines["tts"].split(maxsplit=2)[1:] == [
        "ok",
        "tones: 400 ms of audio for 'hello', 16000 Hz",
    ]
    assert done.returncode == 0, done.stdout

    config.write_text(f"{server}tts:\n  name: tones\n  letter_ms: 5\n")
    done = vixio(site, tmp_path, "check")
    assert done.returncode == 2
    assert "vixio.yaml:4: tts.letter_ms: expected a number" in done.stdout


def test_nothing_is_left_in_the_source_tree(site: Path) -> None:
    assert {path.name for path in TEMPLATE.iterdir()} <= {
        "README.md",
        "pyproject.toml",
        "tests",
        "vixio_tones",
    }
