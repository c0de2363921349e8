"""onnxruntime, imported in one place, so that its telemetry is off wherever it is used."""

from __future__ import annotations

import os
from typing import Any

from vixio.core import telemetry


def load_onnxruntime() -> Any:  # noqa: ANN401  untyped
    """Return the module ``onnxruntime``. Raises ImportError.

    ``vixio.core.telemetry`` has set the variable that disables its telemetry, which the library
    reads when it is loaded. The call below is for a program that loaded it before Vixio: it stops
    later events, not the first one.
    """
    import onnxruntime

    if not telemetry.decided_otherwise(telemetry.ONNXRUNTIME, os.environ):
        onnxruntime.disable_telemetry_events()
    return onnxruntime
