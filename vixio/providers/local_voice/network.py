"""The network of a voice on onnxruntime, whose call another thread can end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vixio.core.errors import ProviderUnavailable
from vixio.providers.local_voice.job import Interruption
from vixio.providers.onnx_runtime import load_onnxruntime

Tensor: TypeAlias = npt.NDArray[np.generic]


class VoiceNetwork:
    """A loaded network. One call at a time."""

    def __init__(
        self, provider: str, model: Path, threads: int, *, remedy: str, prepack: bool = True
    ) -> None:
        """``provider``: for errors. ``model``: the ONNX file.

        ``prepack``: keep a second copy of the weights, laid out for speed. Raises
        ProviderUnavailable, which ends in ``remedy``.
        """
        onnxruntime = load_onnxruntime()
        self._new_options = onnxruntime.RunOptions
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # The arena keeps what the longest sentence took, some 200 MB; without it a call takes
        # about a tenth more.
        options.enable_cpu_mem_arena = False
        # A spinning thread pool would use the CPU between the calls.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if not prepack:
            options.add_session_config_entry("session.disable_prepacking", "1")
        options.log_severity_level = 4  # it reports each interrupted call as an error
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the runtime's classes of errors have no common base
            raise ProviderUnavailable(
                provider, f"cannot load {model} ({type(error).__name__}): {remedy}"
            ) from error
        self.inputs = frozenset(each.name for each in self._session.get_inputs())
        """The names of the inputs."""

    def run(
        self, inputs: Mapping[str, Tensor], interruption: Interruption
    ) -> npt.NDArray[np.float32] | None:
        """Return the sound for ``inputs``, one-dimensional; None if it was interrupted.

        An interruption takes effect between two layers, which is after some milliseconds.
        """
        options = self._new_options()
        interrupted = False

        def stop() -> None:
            nonlocal interrupted
            interrupted = options.terminate = True

        with interruption.ends(stop):
            try:
                sound: npt.NDArray[np.float32] = self._session.run(None, inputs, options)[0]
            except Exception:
                if interrupted:
                    return None
                raise
        return sound.reshape(-1)
