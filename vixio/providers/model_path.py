"""Where installed models lie, and short names for them in the settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator

VARIABLE: Final = "VIXIO_MODELS"


def models_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of models: ``$VIXIO_MODELS``, or ``$XDG_DATA_HOME/vixio/models``."""
    variables = os.environ if environment is None else environment
    if chosen := variables.get(VARIABLE, ""):
        return Path(chosen).expanduser()
    data = variables.get("XDG_DATA_HOME", "")
    # "All paths set in these environment variables must be absolute", else ignored (XDG 0.8).
    base = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "vixio" / "models"


def located(path: Path) -> Path:
    """Return the folder of an installed model for its bare name, else ``path`` itself.

    What lies under that name in the working directory goes first.
    """
    if len(path.parts) == 1 and not path.exists() and (path.name not in {"", "~", ".."}):
        installed = models_folder() / path
        if installed.is_dir():
            return installed
    return path


def located_voice(path: Path) -> Path:
    """Return the one ONNX file of an installed model for its bare name, else ``path`` itself."""
    folder = located(path)
    if folder == path:
        return path
    found = sorted(folder.glob("*.onnx"))
    return found[0] if len(found) == 1 else path


InstalledFolder = Annotated[Path, AfterValidator(located)]
"""A setting: the folder of a model, or the name of an installed one."""

InstalledVoice = Annotated[Path, AfterValidator(located_voice)]
"""A setting: the ONNX file of a voice, or the name of an installed one."""
