"""What holds for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def no_memory_around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The memory of whoever runs the tests is not theirs to read or to write."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
