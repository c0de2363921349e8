"""What ``vixio models`` tells people: sizes, progress, entries."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vixio.cli.setup.choices import EARS, VOICES
from vixio.cli.status import StatusLine
from vixio.core.extras import Extra, how_to_install
from vixio.providers.model_path import located, models_folder

if TYPE_CHECKING:
    from vixio.providers.downloads.catalogue import Model, Runtime
    from vixio.providers.downloads.get import Plan
    from vixio.providers.downloads.progress import Progress
    from vixio.providers.downloads.store import Installed, ModelStore

_WINDOW: Final = 5.0
"""Seconds over which the speed is averaged."""

_REDRAW: Final = 0.2
"""Seconds between two changes of the line on a terminal."""

_DOING = {
    "downloading": "",
    "copying": "copying ",
    "unpacking": "unpacking ",
    "checking": "checking ",
}

_NEEDS: Mapping[Runtime, tuple[str, Extra]] = {
    "sherpa-onnx": ("sherpa_onnx", "sherpa"),
    "funasr": ("funasr", "funasr"),
}
"""The package that a provider needs besides the default install, and the extra that has it."""


def size_of(count: int) -> str:
    """Return bytes for people: in powers of ten, as hubs show them."""
    if count < 1_000_000:
        return f"{max(1, round(count / 1000))} kB" if count else "0 kB"
    return f"{count / 1e6:.0f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"


class ProgressLines:
    """Shows progress: on a terminal one line that changes, elsewhere a line for each tenth."""

    def __init__(
        self, status: StatusLine, *, live: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._status = status
        self._live = live
        self._clock = clock
        self._shown = ""
        self._at = float("-inf")
        self._task: tuple[str, str] = ("", "")
        self._points: deque[tuple[float, int]] = deque()

    def __call__(self, progress: Progress) -> None:
        """Take one report."""
        name, stage = progress.model, progress.stage
        if stage == "trouble":
            self._status.line(f"{name}: {progress.text}")
        elif stage == "waiting":
            self._show(f"{name}: waiting for another command that fetches it")
        elif stage == "asking":
            self._show(f"{name}: asking {progress.text}")
        else:
            self._show_bytes(progress)

    def _show(self, text: str) -> None:
        if text != self._shown:
            self._shown = text
            self._status.show(text)

    def _show_bytes(self, progress: Progress) -> None:
        now = self._clock()
        if self._task != (progress.model, progress.stage):
            self._task = progress.model, progress.stage
            self._points.clear()
            self._at = float("-inf")
            self._tenth = -1
        self._points.append((now, progress.done))
        while now - self._points[0][0] > _WINDOW and len(self._points) > 2:
            self._points.popleft()
        total = max(progress.total, progress.done, 1)
        tenth = progress.done * 10 // total
        whole = progress.done >= total
        if self._live:
            if now - self._at < _REDRAW and not whole:
                return
        elif tenth == self._tenth:
            return
        elif progress.stage != "downloading":
            self._show(f"{progress.model}: {_DOING[progress.stage]}{size_of(total)}")
            return  # it takes seconds: one line is enough
        self._at, self._tenth = now, tenth
        speed = self._speed()
        parts = [
            f"{progress.model}: {_DOING[progress.stage]}{progress.done * 100 // total} %",
            f"of {size_of(total)}",
        ]
        if progress.stage == "downloading":
            if speed:
                left = (total - progress.done) / speed
                parts += [f"at {size_of(round(speed))}/s", f"{_time(left)} left"]
            parts.append(f"from {progress.text}")
        self._show(", ".join([" ".join(parts[:2]), *parts[2:]]))

    def _speed(self) -> float:
        (start, first), (end, last) = self._points[0], self._points[-1]
        return (last - first) / (end - start) if end > start and last > first else 0.0


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 6000 else f"{whole // 3600} h"


def listing(models: Iterable[Model], installed: Mapping[str, Installed], place: Path) -> str:
    """Return the list of ``vixio models``."""
    rows: list[tuple[str, ...]] = []
    known = list(models)
    for kind, heading in (("asr", "recognisers (asr)"), ("tts", "voices (tts)")):
        rows.append((heading,))
        for model in (each for each in known if each.kind == kind):
            there = installed.get(model.name)
            size = size_of(there.size) if there else _about(model)
            licence = model.licence.name + ("" if model.licence.certain else " (?)")
            mark = "*" if there else " "
            rows.append(
                (f"{mark} {model.name}", size, model.runtime, _languages(model, 5), licence)
            )
    rows.append(("from packages, for `vixio setup` or `make extra`",))
    for choice in (each for each in (*EARS, *VOICES) if each.module and not each.model):
        mark = "*" if choice.is_installed() else " "
        rows.append((f"{mark} {choice.name}", "", choice.extra or "", choice.kind))
    others = [each for each in installed.values() if each.name not in {it.name for it in known}]
    if others:
        rows.append(("not in the catalogue",))
        rows += [(f"* {each.name}", size_of(each.size)) for each in others]
    widths = [max(len(row[at]) for row in rows if len(row) > at + 1) for at in range(4)]
    lines: list[str] = []
    for row in rows:
        if len(row) == 1:
            lines += ["", row[0]] if lines else [row[0]]
            continue
        cells = [cell.rjust(widths[1]) if at == 1 else cell for at, cell in enumerate(row)]
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
        lines.append("  ".join([*padded, *cells[4:]]).rstrip())
    total = sum(each.size for each in installed.values())
    count = len(installed)
    here = f"{count} fetched (*), {size_of(total)}" if count else "none fetched"
    lines += ["", f"{here}, in {place}", "vixio models get NAME   shows one and fetches it"]
    return "\n".join(lines)


def _languages(model: Model, most: int) -> str:
    more = len(model.languages) - most
    shown = " ".join(model.languages[:most])
    return f"{shown} +{more}" if more > 0 else shown


def _about(model: Model) -> str:
    return size_of(model.size) if model.exact else f"~{size_of(model.size)}"


def described(plan: Plan, store: ModelStore, source: str) -> str:
    """Return what is told before a model is fetched. ``source``: where from, if not the hubs."""
    model = plan.model
    size = f"{'' if plan.stated else 'about '}{size_of(plan.size)}"
    if plan.arrived:
        size += f", of which {size_of(plan.arrived)} have arrived"
    certain = "" if model.licence.certain else " (not certain: read it)"
    rows = [
        ("languages", _languages(model, 30)),
        ("size", size),
        ("licence", f"{model.licence.name}{certain}, {model.licence.url}"),
        ("from", source or ", then ".join(plan.hosts)),
        ("into", str(store.place(model.name))),
    ]
    if model.note:
        rows.insert(1, ("note", model.note))
    return "\n".join([f"{model.name}: {model.title}", *(f"  {a:<10}{b}" for a, b in rows)])


def settings_line(model: Model, store: ModelStore) -> str:
    """Return the line for the settings file that uses a model."""
    import yaml

    (kind, section), *_ = model.settings(setting_of(model, store)).items()
    text: str = yaml.safe_dump(
        section, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True
    )
    return f"{kind}: {text.strip()}"


def setting_of(model: Model, store: ModelStore) -> str:
    """Return how the settings name a model: by its name in the usual folder, else by its path."""
    place = store.place(model.name)
    usual = store.folder == models_folder().absolute()
    if usual and located(Path(model.name)) == models_folder() / model.name:
        return model.name
    if model.runtime == "piper":
        return str(place / next(file.name for file in model.files if file.name.endswith(".onnx")))
    return str(place)


def missing_runtime(model: Model) -> str | None:
    """Return the command that installs what runs a model, None if it is there."""
    needs = _NEEDS.get(model.runtime)
    if needs is None or find_spec(needs[0]) is not None:
        return None
    return how_to_install(needs[1])


def verified_by(installed: Installed) -> str:
    """Return by what the files of a model were verified."""
    found = {file.checked for file in installed.files}
    if "nothing" in found:
        return "not verified: neither the catalogue nor the hub states digests or sizes"
    if "size" in found:
        return "verified by size alone: neither the catalogue nor the hub states all digests"
    whose = {"catalogue": "the catalogue's", "hub": "the hub's"}
    return f"verified by {' and '.join(whose[each] for each in sorted(found))} digests"


def as_json(model: Model, installed: Installed | None, store: ModelStore) -> dict[str, Any]:
    """Return an entry, and its place on disk, for ``--json``."""
    return {
        "name": model.name,
        "title": model.title,
        "kind": model.kind,
        "runtime": model.runtime,
        "languages": list(model.languages),
        "note": model.note,
        "licence": model.licence.model_dump(),
        "bytes": model.size,
        "exact": model.exact,
        "settings": model.settings(setting_of(model, store)),
        "installed": None if installed is None else installed_json(installed),
    }


def installed_json(installed: Installed) -> dict[str, Any]:
    """Return what is on disk of a model, for ``--json``."""
    return {
        "folder": str(installed.folder),
        "bytes": installed.size,
        "source": installed.source,
        "files": {
            file.name: {"bytes": file.size, "sha256": file.sha256, "checked": file.checked}
            for file in installed.files
        },
    }
