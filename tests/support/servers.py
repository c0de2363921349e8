"""What tests with servers of this machine have in common."""

from __future__ import annotations

import os
import socket
from typing import NoReturn

import pytest


def missing(what: str, *, required: str, target: str) -> NoReturn:
    """Skip the test, or fail it where the variable ``required`` says that nothing is missing.

    ``target``: of the Makefile, which installs it and sets the variable.
    """
    if os.environ.get(required):
        pytest.fail(what)
    pytest.skip(f"{what}; `make {target}` installs it")  # and fails without it


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
