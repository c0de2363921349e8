"""What hubs say of their files, and which of them are asked."""

from __future__ import annotations

import pytest

from tests.support.hub import (
    HubServer,
    git_sha1,
    github,
    hugging_face,
    modelscope,
    sha256,
    status,
    zipped,
)
from tests.unit.providers.downloads.conftest import BIG, FILES, REPO, SMALL
from vixio.providers.downloads.catalogue import Source
from vixio.providers.downloads.errors import ModelError, Trouble
from vixio.providers.downloads.hubs import GITHUB, HF_MIRROR, HUGGING_FACE, MODELSCOPE, Hubs, Mirror
from vixio.providers.downloads.web import Web

HF = Source(hub="huggingface", repo=REPO)
MS = Source(hub="modelscope", repo=REPO)
GH = Source(hub="github", repo=REPO, revision="asr-models")


def mirror(hub: HubServer, source: Source) -> Mirror:
    return Mirror(source.hub, hub.base, trusted=True)


async def test_hugging_face_states_digests(web: Web, hub: HubServer, hubs: Hubs) -> None:
    hugging_face(hub, REPO, {"a/model.onnx": BIG, "a/tokens.txt": SMALL, "b.txt": SMALL})
    paths = ["a/model.onnx", "a/tokens.txt", "b.txt"]
    found = await hubs.remotes(web, HF, mirror(hub, HF), paths)
    large, small, other = (found[path] for path in paths)
    assert (large.size, large.sha256, large.git) == (len(BIG), sha256(BIG), None)
    assert (small.size, small.sha256, small.git) == (len(SMALL), None, git_sha1(SMALL))
    assert other.git == small.git
    assert large.url == f"{hub.base}/{REPO}/resolve/main/a/model.onnx"
    # A folder of many files is not listed with all its siblings.
    assert hub.paths() == [f"/api/models/{REPO}/tree/main", f"/api/models/{REPO}/tree/main/a"]


async def test_a_list_of_many_pages(web: Web, hub: HubServer, hubs: Hubs) -> None:
    hugging_face(hub, REPO, FILES)
    api = f"/api/models/{REPO}/tree/main"
    hub.contents["/second"] = hub.contents[api]
    hub.put_json(api, [], Link=f'<{hub.base}/second>; rel="next"')
    assert (await hubs.remotes(web, HF, mirror(hub, HF), FILES))["tokens.txt"].git
    hub.put_json(api, [], Link='<http://elsewhere.example/second>; rel="next"')
    with pytest.raises(Trouble, match="not there any more"):
        await hubs.remotes(web, HF, mirror(hub, HF), FILES)


async def test_model_scope_states_digests(web: Web, hub: HubServer, hubs: Hubs) -> None:
    modelscope(hub, REPO, FILES)
    found = await hubs.remotes(web, MS, mirror(hub, MS), FILES)
    assert found["tokens.txt"].sha256 == sha256(SMALL)
    assert found["tokens.txt"].url == f"{hub.base}/models/{REPO}/resolve/master/tokens.txt"
    assert found["model.int8.onnx"].size == len(BIG)
    assert hub.requests[0].query == "Revision=master&Recursive=true"


@pytest.mark.parametrize("digests", [True, False])
async def test_github_states_digests(web: Web, hub: HubServer, hubs: Hubs, digests: bool) -> None:
    github(hub, REPO, "asr-models", {"a.tar.bz2": BIG}, digests=digests)
    found = (await hubs.remotes(web, GH, mirror(hub, GH), ["a.tar.bz2"]))["a.tar.bz2"]
    assert found.size == len(BIG)
    assert found.sha256 == (sha256(BIG) if digests else None)
    assert found.url == f"{hub.base}/{REPO}/releases/download/asr-models/a.tar.bz2"


async def test_a_github_that_answers_no_questions_is_no_trouble(
    web: Web, hub: HubServer, hubs: Hubs
) -> None:
    """Its API allows sixty an hour; its files come from elsewhere."""
    limit = status(403, x_ratelimit_remaining="0")
    hub.fail(f"/repos/{REPO}/releases/tags/asr-models", limit)
    found = await hubs.remotes(web, GH, mirror(hub, GH), ["a.tar.bz2"])
    assert (found["a.tar.bz2"].size, found["a.tar.bz2"].sha256) == (None, None)
    assert len(hub.requests) == 1


async def test_metadata_may_be_compressed_and_late(web: Web, hub: HubServer, hubs: Hubs) -> None:
    hugging_face(hub, REPO, FILES)
    api = f"/api/models/{REPO}/tree/main"
    hub.fail(api, status(503), status(429, Retry_After="0"), zipped)
    assert (await hubs.remotes(web, HF, mirror(hub, HF), FILES))["tokens.txt"].git


@pytest.mark.parametrize("answer", [b"", b"<html>", b"{}", b"null", b"[[" * 50_000, b'[1, "x"]'])
async def test_nonsense_for_metadata(web: Web, hub: HubServer, hubs: Hubs, answer: bytes) -> None:
    hub.put(f"/api/models/{REPO}/tree/main", answer)
    hub.put(f"/api/v1/models/{REPO}/repo/files", answer)
    for source in (HF, MS):
        with pytest.raises(Trouble):
            await hubs.remotes(web, source, mirror(hub, source), ["tokens.txt"])


async def test_metadata_are_bounded(
    web: Web, hub: HubServer, hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vixio.providers.downloads.web.MAX_METADATA", 1000)
    hub.put(f"/api/models/{REPO}/tree/main", b"[" + b" " * 2000 + b"]")
    with pytest.raises(Trouble, match="too long"):
        await hubs.remotes(web, HF, mirror(hub, HF), ["tokens.txt"])


# ── which are asked ──────────────────────────────────────────────────────────────────────────────

GATED = "hf_secret"


def bases(hubs: Hubs, *sources: Source) -> list[str]:
    return [mirror.base for _, mirror in hubs.of(sources)]


def test_the_usual_order() -> None:
    hubs = Hubs.from_environment({})
    assert bases(hubs, MS, HF, GH) == [MODELSCOPE, HUGGING_FACE, HF_MIRROR, GITHUB]


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("hf-mirror", [HF_MIRROR, MODELSCOPE, HUGGING_FACE, GITHUB]),
        ("github", [GITHUB, MODELSCOPE, HUGGING_FACE, HF_MIRROR]),
        ("http://own:80/", ["http://own:80", MODELSCOPE, HUGGING_FACE, HF_MIRROR, GITHUB]),
    ],
)
def test_a_mirror_goes_first(name: str, order: list[str]) -> None:
    assert bases(Hubs.from_environment({}, name), MS, HF, GH) == order


def test_the_environment_names_other_hubs() -> None:
    environment = {
        "HF_ENDPOINT": "https://own.example/hf/",
        "MODELSCOPE_DOMAIN": "www.modelscope.ai",
        "VIXIO_GITHUB": "https://proxy.example/https://github.com",
    }
    hubs = Hubs.from_environment(environment)
    assert bases(hubs, HF, MS, GH) == [
        "https://own.example/hf",
        "https://www.modelscope.ai",
        "https://proxy.example/https://github.com",
    ]
    first = Hubs.from_environment(environment, "modelscope")
    assert bases(first, HF, MS)[0] == "https://www.modelscope.ai"


@pytest.mark.parametrize(
    ("environment", "first", "told"),
    [
        ({}, "nobody", "no mirror 'nobody': huggingface, hf-mirror, modelscope, github"),
        ({}, "ftp://x", "--mirror: 'ftp://x' is no address"),
        ({"HF_ENDPOINT": "hf-mirror.com"}, "", "HF_ENDPOINT: 'hf-mirror.com' is no address"),
        ({"VIXIO_GITHUB": "http://x:bad"}, "", "VIXIO_GITHUB"),
        ({"HF_TOKEN": "a\nb"}, "", "HF_TOKEN has characters that no token has"),
    ],
)
def test_mistakes(environment: dict[str, str], first: str, told: str) -> None:
    with pytest.raises(ModelError) as refused:
        Hubs.from_environment(environment, first)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("base", "trusted", "sees"),
    [
        (HUGGING_FACE, True, True),
        ("http://127.0.0.1:8", True, True),
        ("http://own.example", True, False),  # unprotected
        (HF_MIRROR, False, False),
    ],
)
def test_who_sees_the_token(base: str, trusted: bool, sees: bool) -> None:
    hubs = Hubs.from_environment({"HF_TOKEN": GATED})
    access = hubs.access(Mirror("huggingface", base, trusted))
    assert access is not None
    assert access.token == (GATED if sees else "")
    assert "HF_TOKEN" in access.hint
    assert GATED not in repr(hubs)
    assert hubs.access(Mirror("modelscope", base, trusted)) is None


def test_names_are_quoted() -> None:
    hubs = Hubs.from_environment({})
    source = Source(hub="huggingface", repo=REPO, revision="refs/pr/1")
    url = hubs.url(source, Mirror("huggingface", HUGGING_FACE), "lang/a b#c?.txt")
    assert url == f"{HUGGING_FACE}/{REPO}/resolve/refs%2Fpr%2F1/lang/a%20b%23c%3F.txt"
