"""The client of a file's tests: the file's name says which."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vendors_sdk.client import VendorClient, running


@pytest.fixture(scope="module")
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VendorClient]:
    """A program of tests/vendors_sdk/programs: ``test_NAME.py`` uses ``NAME.py``."""
    program = Path(str(request.path)).stem.removeprefix("test_")
    with running(program, tmp_path_factory.mktemp("home")) as found:
        yield found
