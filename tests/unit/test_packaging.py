"""The lock files, the metadata and the image agree with one another, and one alone brings torch."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
BASE = "requirements/base.lock"
TORCH = "requirements/torch.lock"
APART = ("requirements/vendors.lock",)
"""Of environments of their own."""
LOCKS = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("requirements/*.lock"))
PIN = re.compile(r"^[a-z0-9]+(-[a-z0-9]+)*==[0-9][0-9a-z.]*( ; [^;#@]+)?$")

# Python 3.11, 3.12 and 3.13 on the two Linux architectures that the lock is meant for.
ENVIRONMENTS = [
    {
        "python_version": python,
        "python_full_version": f"{python}.5",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": machine,
    }
    for python in ("3.11", "3.12", "3.13")
    for machine in ("x86_64", "aarch64")
]


def toml(path: str) -> dict[str, Any]:
    return tomllib.loads(ROOT.joinpath(path).read_text(encoding="utf-8"))


def pin_lines(lock: str) -> list[str]:
    lines = ROOT.joinpath(lock).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    marker = requirement.marker
    return marker is None or marker.evaluate({**environment, "extra": ""})


def pinned(environment: dict[str, str], *locks: str) -> dict[str, Version]:
    """The versions that ``locks`` install in ``environment``; a package pinned twice fails."""
    versions: dict[str, Version] = {}
    for lock in locks:
        for requirement in map(Requirement, pin_lines(lock)):
            if applies(requirement, environment):
                name = canonicalize_name(requirement.name)
                assert name not in versions, f"{lock}: {name} is pinned twice for {environment}"
                (specifier,) = requirement.specifier
                versions[name] = Version(specifier.version)
    return versions


def assert_covered(
    requirements: list[str], versions: dict[str, Version], environment: dict[str, str]
) -> None:
    for requirement in map(Requirement, requirements):
        if applies(requirement, environment):
            name = canonicalize_name(requirement.name)
            assert name in versions, f"{requirement} is not pinned for {environment}"
            assert requirement.specifier.contains(versions[name], prereleases=True), (
                f"{name} is pinned to {versions[name]}, wanted is {requirement}"
            )


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_plain_pins_in_order(lock: str) -> None:
    lines = pin_lines(lock)
    assert lines
    for line in lines:
        assert PIN.match(line), f"{lock}: {line!r} is no plain pin"
    assert "://" not in ROOT.joinpath(lock).read_text(encoding="utf-8")
    names = [Requirement(line).name for line in lines]
    assert names == sorted(names)


@pytest.mark.parametrize("lock", [lock for lock in LOCKS if lock != TORCH])
def test_no_lock_brings_torch(lock: str) -> None:
    names = {Requirement(line).name for line in pin_lines(lock)}
    heavy = {name for name in names if re.match(r"torch|nvidia|triton|tensorflow", name)}
    assert heavy <= {"torch-complex"}  # of FunASR: pure Python, asks for numpy alone


def test_the_lock_of_torch_brings_torch_alone() -> None:
    names = {Requirement(line).name for line in pin_lines(TORCH)}
    heavy = {name for name in names if re.match(r"torch|nvidia|cuda|triton|tensorflow", name)}
    assert heavy == {"torch"}


def test_any_extras_fit_into_one_environment() -> None:
    """A package has the same pins in every lock that has it."""
    pins: dict[str, tuple[str, list[str]]] = {}
    for lock in sorted({*LOCKS} - {*APART}):
        its: dict[str, list[str]] = {}
        for line in pin_lines(lock):
            its.setdefault(Requirement(line).name, []).append(line)
        for name, lines in its.items():
            where, others = pins.setdefault(name, (lock, lines))
            assert lines == others, f"{name} differs in {where} and {lock}"


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda e: "-".join(e.values()))
def test_the_lock_covers_what_the_projects_ask_for(environment: dict[str, str]) -> None:
    project = toml("pyproject.toml")
    device = toml("firmware-test-client/pyproject.toml")
    base = pinned(environment, BASE)
    assert_covered(project["project"]["dependencies"], base, environment)
    assert_covered(project["build-system"]["requires"], base, environment)
    assert_covered(device["project"]["dependencies"], base, environment)
    assert_covered(device["build-system"]["requires"], base, environment)
    for extra, requirements in project["project"]["optional-dependencies"].items():
        more = pinned(environment, BASE, f"requirements/{extra}.lock")
        assert_covered(requirements, more, environment)


def test_the_lock_covers_what_the_packages_ask_for() -> None:
    """pip is told --no-deps, so a missing transitive pin would show up as an ImportError."""
    here: dict[str, str] = {}
    versions = pinned(here, BASE, "requirements/dev.lock")
    wanted = {
        name: [r for r in importlib.metadata.requires(name) or [] if applies(Requirement(r), here)]
        for name in versions
    }
    for requirements in wanted.values():
        assert_covered(requirements, versions, here)


def test_the_metadata_never_asks_for_torch() -> None:
    """The wheel, with whatever extras, stays free of torch, and of what would bring it."""
    project = toml("pyproject.toml")["project"]
    extras = project["optional-dependencies"].values()
    asked = [*project["dependencies"], *(r for extra in extras for r in extra)]
    names = {Requirement(r).name for r in asked}
    assert not names & {"silero-vad", "torch", "torchaudio"}


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_the_wheel_asks_for_a_recogniser_that_has_wheels(python: str, system: str) -> None:
    environment = {"python_version": python, "sys_platform": system, "platform_machine": "x86_64"}
    asked = map(Requirement, toml("pyproject.toml")["project"]["dependencies"])
    names = {each.name for each in asked if applies(each, environment)}
    ears = names & {"pocketsphinx", "moonshine-voice"}
    if python < "3.14":
        assert ears == {"pocketsphinx"}
    else:
        assert ears == (set() if system == "darwin" else {"moonshine-voice"})


def test_all_that_git_keeps_of_the_package_is_in_the_wheel() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "vixio"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found = WheelBuilder(str(ROOT)).recurse_included_files()
    assert set(listed.stdout.splitlines()) <= {each.distribution_path for each in found}


def test_the_wheel_has_the_pages_of_the_documentation_and_no_more_of_it() -> None:
    found = WheelBuilder(str(ROOT)).recurse_included_files()
    packed = {each.distribution_path for each in found}
    pages = {f"vixio/docs/{path.name}" for path in ROOT.glob("docs/*.md")}
    assert len(pages) > 10
    assert {path for path in packed if path.startswith("vixio/docs/")} == pages
    assert {"vixio/server.py", "vixio/web/console/static/index.html"} <= packed
    assert {path.partition("/")[0] for path in packed} == {"vixio"}


def test_pins_are_installed_without_their_dependencies() -> None:
    assert "--no-deps" in ROOT.joinpath("scripts/install_lock.sh").read_text(encoding="utf-8")
    assert "--no-deps" in ROOT.joinpath("scripts/install_project.sh").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------- the image


def dockerfile() -> list[tuple[str, list[str]]]:
    """Instructions of the Dockerfile in order: the keyword and its words."""
    text = ROOT.joinpath("Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], shlex.split(line)[1:]) for line in lines]


def scripts_called(command: str) -> set[str]:
    return set(re.findall(r"\b([a-z_]+\.sh)\b", command))


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    kept = {
        line[1:]
        for line in ROOT.joinpath(".dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }
    sources = [
        source
        for keyword, words in dockerfile()
        if keyword == "COPY" and not words[0].startswith("--from")
        for source in words[:-1]
    ]
    assert sources
    for source in sources:
        assert ROOT.joinpath(source).exists(), f"the Dockerfile copies {source}"
        assert source.split("/")[0] in kept, f".dockerignore leaves {source} out"


def test_the_image_is_made_by_the_steps_of_make_setup() -> None:
    makefile = ROOT.joinpath("Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^\$\(RUN_STAMP\):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe is not None
    runs = [" ".join(words) for keyword, words in dockerfile() if keyword == "RUN"]
    image_steps = set().union(*map(scripts_called, runs))
    extras = {"install_extra.sh", "finish_extra.sh"}  # of `make docker EXTRAS=…`
    assert image_steps == scripts_called(recipe[1]) | extras
    for step in image_steps:
        assert os.access(ROOT / "scripts" / step, os.X_OK), f"scripts/{step} is not executable"
    locks = re.findall(r"requirements\S*\.lock", " ".join(runs))
    assert locks == re.findall(r"requirements\S*\.lock", recipe[1]) == [BASE]


def test_the_image_runs_unprivileged_on_a_supported_python_and_says_how_it_is() -> None:
    instructions = dockerfile()
    stages = [words[0] for keyword, words in instructions if keyword == "FROM"]
    assert len(stages) == 2
    requires = Requirement(f"python{toml('pyproject.toml')['project']['requires-python']}")
    for base in stages:
        match = re.fullmatch(r"python:(3\.\d+)-slim", base)
        assert match is not None
        assert requires.specifier.contains(match[1])
    last = dict(instructions)  # the last of each keyword
    assert last["USER"] == ["vixio"]
    assert last["EXPOSE"] == ["8000", "8003"]
    assert "http://127.0.0.1:8003/readyz" in " ".join(last["HEALTHCHECK"])
    assert "vixio" in last["CMD"][0]
