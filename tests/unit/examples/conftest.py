"""What the tests of the templates share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all templates installed into it, by pip, without a network."""
    templates = sorted(map(str, EXAMPLES.glob("*_template")))
    assert len(templates) == 3
    site = tmp_path_factory.mktemp("site")
    options = "--quiet --no-index --no-deps --no-build-isolation --disable-pip-version-check"
    install = [sys.executable, "-m", "pip", "install", *options.split()]
    done = subprocess.run(
        [*install, "--target", str(site), *templates],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return site
