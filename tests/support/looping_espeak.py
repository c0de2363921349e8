"""A worker process whose library never returns from a synthesis."""

from __future__ import annotations

from typing import NoReturn
from unittest.mock import patch

from vixio.providers.espeak_process import worker
from vixio.providers.espeak_process.library import EspeakLibrary


def loop(*_: object, **__: object) -> NoReturn:
    while True:
        pass


if __name__ == "__main__":
    with patch.object(worker, "CPU_SECONDS", 0.2), patch.object(EspeakLibrary, "synthesize", loop):
        worker.main()
