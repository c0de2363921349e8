"""The hubs: their addresses, and what they say of their files.

Wire facts: Hugging Face's tree API (huggingface.co/docs/hub/api; ``lfs.oid`` is the SHA-256 of a
large file, ``oid`` the git blob of a small one), ModelScope's ``repo/files``
(modelscope/hub/api.py), GitHub's releases (docs.github.com/rest/releases/assets; ``digest`` since
June 2025).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

from vixio.providers.downloads.catalogue import HubName, Source
from vixio.providers.downloads.errors import ModelError, Trouble
from vixio.providers.downloads.web import Access, Web, host_of, is_protected

HUGGING_FACE: Final = "https://huggingface.co"
HF_MIRROR: Final = "https://hf-mirror.com"
MODELSCOPE: Final = "https://www.modelscope.cn"
GITHUB: Final = "https://github.com"
GITHUB_API: Final = "https://api.github.com"

MIRRORS: Mapping[str, tuple[HubName, str]] = {
    "huggingface": ("huggingface", HUGGING_FACE),
    "hf-mirror": ("huggingface", HF_MIRROR),
    "modelscope": ("modelscope", MODELSCOPE),
    "github": ("github", GITHUB),
}
"""By the names that ``--mirror`` takes."""

_MOST_PAGES = 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHA1 = re.compile(r"[0-9a-f]{40}")
_NEXT = re.compile(r'<([^<>]+)>\s*;\s*rel="?next"?')
_NO_TOKEN = "a model with conditions: accept them on its page, and set HF_TOKEN"  # noqa: S105
_TOKEN = "the account of HF_TOKEN may not read it: accept the conditions on its page"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Mirror:
    """One server of a hub. ``trusted``: whether it may see the token."""

    hub: HubName
    base: str
    trusted: bool = False

    @property
    def label(self) -> str:
        """How it is named to people."""
        return host_of(self.base)


@dataclass(frozen=True, slots=True)
class Remote:
    """A file of a hub, and what the hub says of it; None where it says nothing."""

    url: str
    size: int | None = None
    sha256: str | None = None
    git: str | None = None
    access: Access | None = None


@dataclass(frozen=True, slots=True)
class Hubs:
    """The mirrors of each hub, in the order in which they are tried, and the token."""

    mirrors: tuple[Mirror, ...]
    first: Mirror | None = None
    """The one that is tried before all others."""
    token: str = field(default="", repr=False)
    github_api: str = GITHUB_API

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], first: str = "") -> Hubs:
        """Return the mirrors that the environment and ``first`` (of ``--mirror``) ask for.

        ``HF_ENDPOINT`` replaces Hugging Face and its mirror, as it does for Hugging Face's own
        client; ``MODELSCOPE_DOMAIN`` is ModelScope's own, ``VIXIO_GITHUB`` what stands for
        https://github.com. ``first``: a name of :data:`MIRRORS`, or the address of a server that
        speaks as Hugging Face. Raises ModelError.
        """
        endpoint = environment.get("HF_ENDPOINT", "").strip()
        mirrors = (
            [Mirror("huggingface", _base(endpoint, "HF_ENDPOINT"), trusted=True)]
            if endpoint
            else [
                Mirror("huggingface", HUGGING_FACE, trusted=True),
                Mirror("huggingface", HF_MIRROR),
            ]
        )
        domain = environment.get("MODELSCOPE_DOMAIN", "").strip()
        if domain and "://" not in domain:
            domain = f"https://{domain}"
        mirrors.append(Mirror("modelscope", _base(domain or MODELSCOPE, "MODELSCOPE_DOMAIN")))
        github = environment.get("VIXIO_GITHUB", "").strip()
        mirrors.append(Mirror("github", _base(github or GITHUB, "VIXIO_GITHUB")))
        chosen = _chosen(mirrors, first) if first else None
        if chosen is not None and chosen not in mirrors:
            mirrors.append(chosen)
        return cls(tuple(mirrors), chosen, _token(environment))

    def of(self, sources: Sequence[Source]) -> list[tuple[Source, Mirror]]:
        """Return where files are, in the order in which to try: ``first``, then as listed."""
        found = [(each, it) for each in sources for it in self.mirrors if each.hub == it.hub]
        return sorted(found, key=lambda each: each[1] != self.first)  # stable

    def access(self, mirror: Mirror) -> Access | None:
        """Return the token for ``mirror`` if it may see it, and what to do if it refuses."""
        if mirror.hub != "huggingface":
            return None
        allowed = mirror.trusted and is_protected(mirror.base)
        token = self.token if allowed else ""
        return Access(token, _TOKEN if token else _NO_TOKEN)

    def url(self, source: Source, mirror: Mirror, path: str) -> str:
        """Return the address of a file."""
        name = quote(path)
        match source.hub:
            case "huggingface":
                return f"{mirror.base}/{source.repo}/resolve/{_revision(source)}/{name}"
            case "modelscope":
                return f"{mirror.base}/models/{source.repo}/resolve/{_revision(source)}/{name}"
            case "github":
                tag = quote(source.revision, safe="")
                return f"{mirror.base}/{source.repo}/releases/download/{tag}/{name}"

    async def remotes(
        self, web: Web, source: Source, mirror: Mirror, paths: Iterable[str]
    ) -> dict[str, Remote]:
        """Return what the hub says of ``paths``. Raises Trouble, also if it lacks one.

        A GitHub that answers no questions (it allows 60 an hour) is not waited for: its files
        have no digest then.
        """
        wanted = list(paths)
        access = self.access(mirror)
        if source.hub == "huggingface":
            stated = await _hugging_face(web, source, mirror, wanted, access)
        elif source.hub == "modelscope":
            stated = await _modelscope(web, source, mirror)
        else:
            stated = await _github(web, source, self.github_api, set(wanted))
        found: dict[str, Remote] = {}
        for path in wanted:
            said = stated.get(path)
            if said is None and source.hub != "github":
                raise Trouble(f"not there any more ({source.repo} has no {path})")
            url = self.url(source, mirror, path)
            found[path] = Remote(url, *(said or (None, None, None)), access=access)
        return found


_Stated = dict[str, tuple[int | None, str | None, str | None]]
"""By path: size, SHA-256, SHA-1 of the git blob."""


async def _hugging_face(
    web: Web, source: Source, mirror: Mirror, paths: Sequence[str], access: Access | None
) -> _Stated:
    stated: _Stated = {}
    for folder in sorted({path.rpartition("/")[0] for path in paths}):
        url = f"{mirror.base}/api/models/{source.repo}/tree/{_revision(source)}"
        url += f"/{quote(folder)}" if folder else ""
        for _ in range(_MOST_PAGES):
            answer, headers = await web.json(url, access=access)
            for entry in _entries(answer):
                lfs = entry.get("lfs")
                large = lfs if isinstance(lfs, dict) else {}
                git = None if large else _match(_SHA1, entry.get("oid"))
                sha256 = _match(_SHA256, large.get("oid"))
                stated[str(entry.get("path"))] = (_size(entry.get("size")), sha256, git)
            following = _NEXT.search(headers.get("link", ""))
            if following is None or host_of(following[1]) != mirror.label:
                break
            url = following[1]
    return stated


async def _modelscope(web: Web, source: Source, mirror: Mirror) -> _Stated:
    revision = quote(source.revision or "master", safe="")
    answer, _ = await web.json(
        f"{mirror.base}/api/v1/models/{source.repo}/repo/files?Revision={revision}&Recursive=true"
    )
    data = answer.get("Data") if isinstance(answer, dict) else None
    return {
        str(entry.get("Path")): (
            _size(entry.get("Size")),
            _match(_SHA256, str(entry.get("Sha256")).lower()),
            None,
        )
        for entry in _entries(data.get("Files") if isinstance(data, dict) else None)
        if entry.get("Type") != "tree"
    }


async def _github(web: Web, source: Source, api: str, wanted: set[str]) -> _Stated:
    tag = quote(source.revision, safe="")
    stated: _Stated = {}
    try:
        release, _ = await web.json(f"{api}/repos/{source.repo}/releases/tags/{tag}")
        number = release.get("id") if isinstance(release, dict) else None
        for page in range(1, _MOST_PAGES + 1):
            url = f"{api}/repos/{source.repo}/releases/{number}/assets?per_page=100&page={page}"
            assets = list(_entries((await web.json(url))[0]))
            for entry in assets:
                digest = str(entry.get("digest")).removeprefix("sha256:")
                sizes = _size(entry.get("size")), _match(_SHA256, digest), None
                stated[str(entry.get("name"))] = sizes
            if wanted <= stated.keys() or len(assets) < 100:
                break
    except Trouble:
        pass  # the file itself comes from another server
    return stated


def _entries(answer: object) -> Iterator[dict[str, Any]]:
    """Yield the entries of a list. Raises Trouble if it is none."""
    if not isinstance(answer, list):
        raise Trouble("an answer about its files that is not as its documents say")
    yield from (entry for entry in answer if isinstance(entry, dict))


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _match(pattern: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


def _revision(source: Source) -> str:
    usual = "main" if source.hub == "huggingface" else "master"
    return quote(source.revision or usual, safe="")


def _chosen(mirrors: list[Mirror], name: str) -> Mirror:
    """Return the mirror that ``name`` means. Raises ModelError."""
    if "://" in name:
        return Mirror("huggingface", _base(name, "--mirror"), trusted=True)
    if name not in MIRRORS:
        raise ModelError(
            f"there is no mirror {name!r}: {', '.join(MIRRORS)}, or the address of a server that "
            "speaks as Hugging Face"
        )
    hub, base = MIRRORS[name]
    if hub == "huggingface":
        return Mirror(hub, base, trusted=base == HUGGING_FACE)
    return next(each for each in mirrors if each.hub == hub)


def _base(address: str, where: str) -> str:
    """Return an address without a slash at its end. Raises ModelError if it is none."""
    try:
        place = urlsplit(address)
        usable = place.scheme in {"http", "https"} and place.hostname and not place.query
        usable = usable and (place.port is None or place.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ModelError(f"{where}: {address!r} is no address such as {HF_MIRROR}")
    return address.rstrip("/")


def _token(environment: Mapping[str, str]) -> str:
    token = environment.get("HF_TOKEN", "").strip()
    if not (token.isascii() and token.isprintable()):
        raise ModelError("HF_TOKEN has characters that no token has")
    return token
