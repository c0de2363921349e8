"""The entries of ``catalogue.yaml``: what each model is, and where its files are."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from vixio.providers.downloads.errors import ModelError

HubName = Literal["huggingface", "modelscope", "github"]
Kind = Literal["asr", "tts"]
Runtime = Literal["sherpa-onnx", "piper", "funasr"]

SETTING: Mapping[str, str] = {"sherpa-onnx": "folder", "piper": "model", "funasr": "model"}
"""The setting of each provider that takes a model's name or folder."""

MANIFEST = "vixio-model.json"
"""Written into the folder of an installed model; no file of a model may have this name."""


def _relative(value: str) -> str:
    """Return a path that stays in its folder. Raises ValueError for any other."""
    path = PurePosixPath(value)
    plain = value and value == str(path) and not path.is_absolute() and ".." not in path.parts
    if not plain or "\\" in value or not value.isprintable():
        raise ValueError(f"{value!r} is no relative path")
    return value


NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}$"
ModelName = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
RelativePath = Annotated[str, AfterValidator(_relative)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(gt=0)]
Repo = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Licence(_Entry):
    """The licence of the weights."""

    name: str
    url: str
    certain: bool = True
    """False: the hub's page and the model's authors say different things, or nothing."""


class _Sized(_Entry):
    size: Bytes | None = None
    """Exact number of bytes; left out where it is not known for certain."""
    about: Bytes | None = None
    """Approximate number of bytes, where there is no ``size``."""
    sha256: Sha256 | None = None
    """Of the content, from a public source; left out where it is not known for certain."""

    @property
    def expected(self) -> int:
        """The bytes as far as they are known."""
        return self.size or self.about or 0


class ModelFile(_Sized):
    """One file of a model."""

    name: RelativePath
    """Path in the installed folder."""
    at: RelativePath | None = None
    """Path in the sources, if it differs."""

    @property
    def there(self) -> str:
        """The path in the sources."""
        return self.at or self.name


class Source(_Sized):
    """A repository, or an archive in one, that has all files of a part."""

    hub: HubName
    repo: Repo
    revision: str = ""
    """Branch, tag or commit; of GitHub the tag of the release. Default: the hub's main branch."""
    folder: str = ""
    """Folder of the files, in the repository or in the archive."""
    archive: RelativePath | None = None
    """A ``.tar.bz2`` (or .gz, .xz) with the files; then ``size`` and ``sha256`` are those of it."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.folder:
            _relative(self.folder)
        if self.hub == "github" and not self.revision:
            raise ValueError("a source on GitHub needs `revision`: the tag of the release")
        return self

    def path_of(self, file: ModelFile) -> str:
        """Return the path of ``file`` in the repository or in the archive."""
        return f"{self.folder}/{file.there}" if self.folder else file.there


class Part(_Entry):
    """Files that have the same sources. Most models have one part."""

    files: Annotated[tuple[ModelFile, ...], Field(min_length=1)]
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]


class Model(_Entry):
    """An entry."""

    name: ModelName
    title: str
    kind: Kind
    runtime: Runtime
    """The provider that runs it."""
    languages: tuple[str, ...]
    licence: Licence
    note: str = ""
    """What one should know before choosing it."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Further settings of its provider, as ``speaker``."""
    parts: Annotated[tuple[Part, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _whole(self) -> Self:
        names = [file.name for file in self.files]
        if len(set(names)) != len(names):
            raise ValueError("two files have the same name")
        if MANIFEST in names:
            raise ValueError(f"no file may be named {MANIFEST}")
        return self

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """The files of all parts."""
        return tuple(file for part in self.parts for file in part.files)

    @property
    def size(self) -> int:
        """Bytes on disk, as far as the catalogue knows them."""
        return sum(file.expected for file in self.files)

    @property
    def exact(self) -> bool:
        """Whether the catalogue has the exact size of each file."""
        return all(file.size for file in self.files)

    def settings(self, place: str) -> dict[str, dict[str, Any]]:
        """Return the section of the settings that uses it. ``place``: its name, or its folder."""
        return {self.kind: {"name": self.runtime, SETTING[self.runtime]: place, **self.options}}


Catalogue = Mapping[str, Model]

_ENTRIES = TypeAdapter(dict[str, dict[str, Any]])


def load_catalogue(*further: Path) -> dict[str, Model]:
    """Return the entries by name; those of ``further`` files replace built-in ones.

    Raises ModelError with the file and the entry that is wrong.
    """
    found = _read(
        (files("vixio.providers.downloads") / "catalogue.yaml").read_text("utf-8"), "the catalogue"
    )
    for path in further:
        try:
            text = path.expanduser().read_text("utf-8")
        except (OSError, ValueError) as error:
            raise ModelError(f"cannot read the catalogue {path}: {error}") from None
        found |= _read(text, str(path))
    return found


def _read(text: str, place: str) -> dict[str, Model]:
    import yaml

    try:
        entries = _ENTRIES.validate_python(yaml.safe_load(text) or {})
    except yaml.YAMLError as error:
        raise ModelError(f"{place} is no YAML: {' '.join(str(error).split())}") from None
    except ValidationError:
        raise ModelError(f"{place} has to map names to entries, as the built-in one does") from None
    found: dict[str, Model] = {}
    for name, entry in entries.items():
        try:
            found[name] = Model.model_validate({"name": name, **entry})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            reason = f"{where}: {first['msg']}" if where else str(first["msg"])
            raise ModelError(f"{place}, entry {name}: {reason}") from None
    return found


def find(catalogue: Catalogue, name: str) -> Model:
    """Return the entry. Raises ModelError with similar names."""
    if name in catalogue:
        return catalogue[name]
    import difflib

    near = difflib.get_close_matches(name, catalogue, 3)
    near = near or [each for each in catalogue if name in each][:3]
    hint = f" (near: {', '.join(near)})" if near else ""
    raise ModelError(f"there is no model {name!r}{hint}; `vixio models` lists all")
