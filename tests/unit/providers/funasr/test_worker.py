"""Messages of the worker about a model that cannot be loaded, and about failed utterances."""

from __future__ import annotations

from typing import Any

import pytest

from vixio.providers.funasr.settings import FunASRSettings
from vixio.providers.funasr.worker import why

SETTINGS = FunASRSettings().worker()
OFFLINE = (
    "Notice: ffmpeg is not installed.\n"
    "Download: iic/SenseVoiceSmall failed!: Max retries exceeded with url\n"
    "Warning, miss key in ckpt: x\n"
)


@pytest.mark.parametrize(
    ("error", "printed", "message"),
    [
        (
            ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn"),
            "",
            {"message": "the package torch is missing: pip install torch"},
        ),
        (
            AssertionError(),
            OFFLINE,
            {
                "message": "iic/SenseVoiceSmall could not be downloaded "
                "(Max retries exceeded with url)",
                "retryable": True,
            },
        ),
        (
            RuntimeError("model is not registered"),
            "Download: iic/SenseVoiceSmall failed!: 404 Client Error\n",
            {
                "message": "iic/SenseVoiceSmall could not be downloaded (404 Client Error)",
                "retryable": False,
            },
        ),
        (
            RuntimeError("two\nlines"),
            "",
            {"message": "iic/SenseVoiceSmall could not be loaded (two lines)", "retryable": False},
        ),
        (
            SystemExit(),
            "",
            {"message": "iic/SenseVoiceSmall could not be loaded (SystemExit)", "retryable": False},
        ),
    ],
)
def test_one_line_says_why_and_whether_it_may_pass(
    error: BaseException, printed: str, message: dict[str, Any]
) -> None:
    assert why(error, SETTINGS, printed) == message
