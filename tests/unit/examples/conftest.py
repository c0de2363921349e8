"""What the tests of the templates share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the module's ``TEMPLATE`` installed into it, by pip, without a network."""
    site = tmp_path_factory.mktemp("site")
    options = "--quiet --no-index --no-deps --no-build-isolation --disable-pip-version-check"
    install = [sys.executable, "-m", "pip", "install", *options.split()]
    done = subprocess.run(
        [*install, "--target", str(site), str(request.module.TEMPLATE)],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return site
