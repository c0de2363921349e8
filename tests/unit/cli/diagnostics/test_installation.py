"""What is installed and imported as ``vixio``: seen by processes with paths of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import vixio
from vixio.cli.diagnostics import installation

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[4]

ASK = """
import sys
from vixio.core.errors import ConfigError
from vixio.cli.diagnostics.installation import describe_installation
sys.argv[0] = sys.argv[1]
try:
    print("ok", describe_installation())
except ConfigError as error:
    print("wrong", error)
"""


def look(*path: Path, cwd: Path, command: str = "-c", options: Sequence[str] = ()) -> str:
    """Return what a process says that imports from ``cwd``, then from ``path`` (PYTHONPATH)."""
    return subprocess.run(
        [sys.executable, *options, "-c", ASK, command],
        cwd=cwd,
        env={"PYTHONPATH": ":".join(map(str, path))},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()


def distribution(
    site: Path, *, version: str = vixio.__version__, command: str, editable: Path | None = None
) -> Path:
    """Write the metadata of a distribution named ``vixio`` into ``site``."""
    info = site / f"vixio-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: vixio\nVersion: {version}\nSummary: Sorts pictures\n"
    )
    (info / "entry_points.txt").write_text(f"[console_scripts]\nvixio = {command}\n")
    if editable is not None:
        origin = {"url": editable.as_uri(), "dir_info": {"editable": True}}
        (info / "direct_url.json").write_text(json.dumps(origin))
    return site


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the code in a place of its own, which is no checkout."""
    shutil.copytree(ROOT / "vixio", tmp_path / "copy" / "vixio")
    return tmp_path / "copy"


def test_a_checkout_that_is_installed_is_fine(tmp_path: Path) -> None:
    site = distribution(tmp_path / "site", command=installation.COMMAND, editable=ROOT)
    assert look(ROOT, site, cwd=tmp_path) == f"ok {vixio.__version__} from {ROOT}"


def test_the_metadata_of_another_project_are_noticed(tmp_path: Path) -> None:
    site = distribution(tmp_path / "site", version="9.1", command="vixio.cli:run")
    answer = look(ROOT, site, cwd=tmp_path)
    assert answer.startswith(f"wrong {site} has another project of the same name, vixio 9.1 (Sorts")
    assert f"make -C {ROOT} -B setup" in answer
    assert "\n" not in answer


def test_a_package_written_over_this_one_is_noticed(copied: Path) -> None:
    (copied / "vixio" / "__init__.py").write_text('__version__ = "9.1"\n')
    answer = look(copied, cwd=copied)
    file = copied / "vixio" / "__init__.py"
    assert answer.startswith(f"wrong {file} is not the one of this project")
    assert "\n" not in answer


def test_code_from_elsewhere_than_the_environment_says_is_noticed(
    copied: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    site = distribution(tmp_path / "site", command=installation.COMMAND, editable=other)
    answer = look(site, cwd=copied)
    assert answer.startswith(f"wrong vixio is imported from {copied}, but the environment ")
    assert f" belongs to {other}: remove {copied}/vixio" in answer
    (copied / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "install_extra.sh", copied / "scripts")
    assert f"`make setup` in {copied} gives it one" in look(site, cwd=copied)
    # PYTHONPATH says that it is meant.
    answer = look(copied, site, cwd=tmp_path)
    assert answer == f"ok {vixio.__version__} from {copied}, by PYTHONPATH"


def test_metadata_of_another_version_are_noticed(copied: Path) -> None:
    distribution(copied, version="0.0.1", command=installation.COMMAND)
    answer = look(copied, cwd=copied)
    assert f"{copied} are those of 0.0.1, the code in {copied} is {vixio.__version__}:" in answer


def test_the_command_of_an_environment_that_was_moved_is_noticed(tmp_path: Path) -> None:
    moved = tmp_path / "there" / ".venv"
    moved.mkdir(parents=True)
    (moved / "pyvenv.cfg").touch()
    site = distribution(tmp_path / "site", command=installation.COMMAND, editable=ROOT)
    command = moved / "bin" / "vixio"
    answer = look(ROOT, site, cwd=tmp_path, command=str(command))
    assert answer.startswith(f"wrong {command} runs in the environment ")
    assert f"`make setup VENV={moved}`" in answer


def test_without_metadata_it_says_so(tmp_path: Path) -> None:
    # -S: without site-packages, where the environment's own metadata are.
    answer = look(ROOT, cwd=tmp_path, options=["-S"])
    assert answer == f"ok {vixio.__version__} from {ROOT}, not installed"
