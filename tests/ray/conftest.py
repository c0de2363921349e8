"""One Ray with the example for all tests of this folder: it starts in half a minute."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray.service import SpeechService, bin_of_ray


@pytest.fixture(scope="session")
def service() -> Iterator[SpeechService]:
    # Not pytest's folder: Ray's sockets have its path in their names, of at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="vixio-ray-"))
    try:
        speech = SpeechService(bin_of_ray(), folder)
        with speech.running():
            yield speech
    finally:
        shutil.rmtree(folder, ignore_errors=True)
