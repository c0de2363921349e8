"""A second opinion on whether a turn is over, by its sound: Smart Turn 3.2 (extra ``smart-turn``).

Network and features are two files of the distribution ``pipecat-ai`` (BSD-2-Clause), which is
installed without its dependencies and never imported. A question takes 0.1 s of a slow core, so one
thread answers those of all devices, and drops what it cannot begin soon.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, Final

import numpy as np

from vixio.core.audio import LISTEN_RATE
from vixio.core.turns.endpointing import OPINION_S
from vixio.providers.inference.packaged import ModelPackage, PackagedFile
from vixio.providers.onnx_runtime import load_onnxruntime

NAME: Final = "smart-turn"

PACKAGE: Final = ModelPackage(
    provider=NAME,
    module="pipecat",
    requirement="pipecat-ai==1.14.0",
    extra="smart-turn",
    files=(
        PackagedFile(
            "audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
            8_679_182,
            "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
        ),
        PackagedFile(
            "audio/turn/smart_turn/_whisper_features.py",
            7_221,
            "139b047d10dee42ad5b4894489012e515a882d8f5e2bffe8ad27b30728fc9968",
        ),
    ),
)

FINISHED: Final = 0.5
"""Probability from which a turn is over."""
START_S: Final = 0.15
"""A question that has not begun by then is dropped: its answer would be too late."""
MOST_WAITING: Final = 8
"""Questions that wait or are being answered; of more none would begin in time."""

_SAMPLES: Final = OPINION_S * LISTEN_RATE

_log = logging.getLogger(__name__)


class SmartTurnModel:
    """The network. One call at a time."""

    def __init__(self, package: ModelPackage = PACKAGE) -> None:
        """Load it; blocking, some 0.3 s. Raises ProviderUnavailable if a file is another one."""
        network, features = package.verified()
        onnxruntime = load_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: Any = onnxruntime.InferenceSession(
            str(network), options, providers=["CPUExecutionProvider"]
        )
        spec = spec_from_file_location("vixio_smart_turn_features", features)
        assert spec is not None and spec.loader is not None  # noqa: S101, PT018  it is a .py file
        module: Any = module_from_spec(spec)  # by its file: the package cannot be imported
        spec.loader.exec_module(module)
        self._features = module.compute_whisper_log_mel_features

    def probability(self, pcm: bytes) -> float:
        """Return how probably a turn is over. ``pcm``: as in
        ``SecondOpinion`` of ``vixio.stations.turn_detector``."""
        # The network has heard turns with their end at 8 s, silence before them.
        samples = np.frombuffer(pcm, "<i2")[-_SAMPLES:].astype(np.float32) / 32768
        samples = np.pad(samples, (_SAMPLES - len(samples), 0))
        features = self._features(samples, do_normalize=True)
        return float(self._session.run(None, {"input_features": features[None]})[0][0, 0])


class SmartTurn:
    """The second opinion for all devices of a process."""

    def __init__(self, package: ModelPackage = PACKAGE) -> None:
        """Load nothing yet. Raises ProviderUnavailable if the extra is not installed."""
        package.folder()
        self._package = package
        self._model: SmartTurnModel | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=NAME)
        self._waiting = 0

    def begin(self) -> None:
        """Load the model in its thread; what fails is a line in the log, and no opinion."""
        self._thread.submit(self._load)

    def close(self) -> None:
        """End the thread after the call that is under way. Idempotent."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def unfinished(self, pcm: bytes) -> bool | None:
        """Return whether more is to come; None: not known, or not in time."""
        if self._waiting >= MOST_WAITING:
            return None
        self._waiting += 1
        job = self._thread.submit(self._judge, pcm)
        answer = asyncio.wrap_future(job)
        late = asyncio.get_running_loop().call_later(START_S, job.cancel)
        try:
            await asyncio.wait((answer,))  # a dropped one is no cancellation of who waits
            return None if answer.cancelled() else answer.result()
        finally:
            self._waiting -= 1
            late.cancel()
            job.cancel()

    def _load(self) -> None:
        try:
            self._model = SmartTurnModel(self._package)
        except Exception as error:  # noqa: BLE001 - the runtime's errors have no common base
            _log.warning("no second opinion on ends of turns", extra={"reason": str(error)})

    def _judge(self, pcm: bytes) -> bool | None:
        try:
            return self._model.probability(pcm) < FINISHED if self._model is not None else None
        except Exception as error:  # noqa: BLE001 - the runtime's errors have no common base
            _log.warning("no second opinion on a turn", extra={"reason": str(error)})
            return None
