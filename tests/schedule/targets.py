"""The targets: which tests, what they need, and the parts of them that run side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from tests.schedule.times import NOTHING, UNKNOWN, Time, Times

START = Time(3.0, 3.0)
"""Of one part: the interpreter, imports, the collection of its tests."""


@dataclass(frozen=True)
class Group:
    """Test files that are dealt to ``parts`` processes, by their measured times.

    ``paths``: files, folders or tests (``file::test``). ``without``: patterns of files that are not
    meant. ``options``: of pytest. ``alone``: nothing runs beside them. ``by_load``: files that wait
    and files that compute go to different processes, and what computes fills the cores at the end.
    """

    name: str
    paths: Sequence[str]
    without: Sequence[str] = ()
    parts: int = 1
    options: Sequence[str] = ()
    alone: bool = False
    by_load: bool = False


@dataclass(frozen=True)
class Target:
    """What ``make test-NAME`` runs.

    ``needs``: what is set up before, by ``make setup-for-…``. ``packages``: folders of the
    environment that Python and the shell find programs in. ``environment``: ``{venv}`` is the
    environment's folder. ``cpu_s``: the budget of processor seconds on the reference machine.
    ``commands``: other programs than pytest, by name.
    """

    name: str
    groups: Sequence[Group]
    needs: Sequence[str] = ()
    packages: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cpu_s: float = 60.0
    of_all: bool = True
    """Whether ``all`` runs it too."""


@dataclass(frozen=True)
class Part:
    """The files of one process of pytest, and the time that they are expected to take."""

    name: str
    group: Group
    paths: tuple[str, ...]
    time: Time

    @property
    def load(self) -> float:
        """The cores that it keeps busy."""
        return min(1.0, self.time.cpu / self.time.wall)


def files(group: Group) -> list[str]:
    """Return the files of a group, and the single tests that it names."""
    found: list[str] = []
    for path in group.paths:
        if Path(path).is_dir():
            found += sorted(map(str, Path(path).rglob("test_*.py")))
        else:
            found.append(path)
    return [each for each in found if not any(fnmatch(each, pattern) for pattern in group.without)]


def parts(target: Target, times: Times) -> Iterator[Part]:
    """Cut a target into parts of about the same length."""
    for group in target.groups:
        found = {
            path: times.get((target.name, path.partition("::")[0]), UNKNOWN)
            for path in files(group)
        }
        hands = (_by_load if group.by_load else _by_length)(found, min(group.parts, len(found)))
        for number, hand in enumerate(hands, 1):
            name = f"{target.name}/{group.name}" + (f"-{number}" if len(hands) > 1 else "")
            time = START + _sum(found[path] for path in hand)
            yield Part(name, group, tuple(sorted(hand)), time)


def _by_length(found: Mapping[str, Time], parts: int) -> list[list[str]]:
    """Deal the longest file first, each to the part with the least to do."""
    hands: list[list[str]] = [[] for _ in range(parts)]
    for path in sorted(found, key=lambda path: -found[path].wall):
        min(hands, key=lambda hand: _sum(found[each] for each in hand).wall).append(path)
    return hands


def _by_load(found: Mapping[str, Time], parts: int) -> list[list[str]]:
    """Cut the files into parts, from the one that waits most to the one that computes most."""
    hands: list[list[str]] = [[] for _ in range(parts)]
    # A second of processor counts twice, so that those that start last are short.
    weight = {path: each.wall + each.cpu for path, each in found.items()}
    whole, before = sum(weight.values()), 0.0
    for path in sorted(found, key=lambda path: found[path].cpu / max(found[path].wall, 0.1)):
        middle = before + weight[path] / 2
        hands[min(int(middle / whole * parts), parts - 1)].append(path)
        before += weight[path]
    return [hand for hand in hands if hand]


def _sum(times: Iterable[Time]) -> Time:
    return sum(times, NOTHING)


BROKER_ENVIRONMENT = {
    "VIXIO_TEST_BROKERS": "1",
    "VIXIO_TRUSTGRAPH": "{venv}/brokers/trustgraph_rabbitmq",
    "VIXIO_TRUSTGRAPH_PULSAR": "{venv}/brokers/trustgraph_pulsar",
}
FUNASR = sorted(map(str, Path("tests/models").glob("test_funasr_*.py")))
SPOKEN = "tests/console/test_talk.py::test_spoken_words_are_answered_and_a_tool_is_called"
ELSEWHERE = (
    "tests/load/*", "tests/chaos/*", "tests/trace/*", "tests/cluster/*", "tests/brokers/*",
    "tests/models/*", "tests/ray/*", "tests/a2a/*", "tests/console/*", "tests/vendors_sdk/*",
    "tests/e2e/test_demo.py",
    "tests/e2e/test_api_document.py", "tests/e2e/test_unstorable.py", "tests/e2e/test_mqtt.py",
    "tests/e2e/test_api_picture.py", "tests/e2e/test_upgrade_now.py", "tests/support/test_warm.py",
)  # fmt: skip
"""Tests that other targets run; `make test` would skip nearly all of them."""

SPEAKING = (
    "tests/contract/test_asr_contract.py",
    "tests/contract/test_tts_contract.py",
    "tests/e2e/test_talk.py",
    "tests/unit/bench/test_conversation.py",
    "tests/unit/bench/test_own_speech.py",
    "tests/unit/bench/test_speech_sets.py",
    "tests/unit/providers/espeak_process/test_fuzz.py",
    "tests/unit/providers/kokoro/test_provider.py",
    "tests/unit/providers/piper/test_provider.py",
    "tests/unit/providers/test_pocketsphinx_processes.py",
    "tests/unit/providers/test_pocketsphinx_speech.py",
)
"""What speaks and recognises at length in this process."""

CONVERSATIONS = [
    f"tests/e2e/test_{name}.py"
    for name in (
        "camera", "commands", "conversation", "echo", "fallback", "first_command", "goodbyes",
        "greetings", "hot_swap", "interruption", "late_results", "mcp_faults", "modes", "mqtt",
        "outcomes", "own_words", "provider_failures", "reminders", "replacements",
        "speaking_delay", "stop_is_last", "thinking_ahead", "tool_user", "twenty_devices",
        "vanishing", "warming_up", "whole_conversation",
    )
]  # fmt: skip
"""What is said and heard is the same whatever carries it."""

TARGETS = (
    Target(
        "test",
        commands={
            "types": ("{bin}/mypy",),
            "house": ("{bin}/python", "scripts/house.py", "--check"),
            "style": ("sh", "-c", "{bin}/ruff check . && {bin}/ruff format --check ."),
        },
        needs=["strace"],
        groups=[
            Group(
                "unit",
                ["tests"],
                without=[*ELSEWHERE, *SPEAKING, "tests/e2e/*", "tests/session/*"],
                parts=6,
                by_load=True,
            ),
            Group(
                "talk",
                ["tests/e2e", "tests/session", "firmware-test-client/tests"],
                without=[*ELSEWHERE, *SPEAKING],
                parts=10,
            ),
        ],
        cpu_s=520,
    ),
    Target(
        "fast",
        [Group("all", ["tests/unit", "tests/session"], options=["-m", "not slow"], parts=6)],
        cpu_s=110,
        of_all=False,
    ),
    Target(
        "mqtt",
        [Group("all", CONVERSATIONS, options=["-m", "not websocket"], parts=6)],
        environment={"VIXIO_TEST_CARRIER": "mqtt"},
        cpu_s=60,
    ),
    Target("load", [Group("all", ["tests/load", "tests/chaos"], alone=True)], cpu_s=60),
    Target(
        "trace",
        [
            Group(
                "all",
                ["tests/trace", "tests/support/test_trace.py", "tests/support/test_warm.py"],
                parts=2,
            )
        ],
        needs=["strace"],
        cpu_s=60,
    ),
    Target(
        "litellm",
        [
            Group(
                "all",
                [
                    "tests/contract/test_agent_contract.py",
                    "tests/quirks",
                    "tests/unit/providers/openai_agent",
                ],
                options=["-k", "litellm"],
            )
        ],
        needs=["strace", "litellm"],
        packages=["litellm"],
        cpu_s=30,
    ),
    Target(
        "models",
        [
            # Each part with FunASR imports it and trains its tiny models.
            Group("funasr", FUNASR, options=["-m", "models"]),
            Group("others", ["tests/models"], without=FUNASR, parts=2, options=["-m", "models"]),
            Group("speaking", SPEAKING, parts=2),
        ],
        needs=["strace", "models"],
        packages=["models"],
        cpu_s=360,
    ),
    Target(
        "stores",
        [
            Group(
                "all",
                [
                    "tests/unit/data/memory",
                    "tests/unit/data/database",
                    "tests/unit/data/devices",
                    "tests/unit/data/backup",
                    "tests/unit/data/conversations",
                    "tests/unit/data/papers",
                    "tests/unit/web/api",
                    "tests/unit/data/reminders",
                    "tests/crash",
                    "tests/e2e/test_memory.py",
                    "tests/e2e/test_device_life.py",
                ],
                parts=2,
                # What needs no server, `make test` runs.
                options=["-k", "postgresql"],
            ),
            Group("unstorable", ["tests/e2e/test_unstorable.py"]),
        ],
        needs=["databases"],
        environment={"VIXIO_TEST_DATABASES": "1"},
        cpu_s=80,
    ),
    Target(
        "a2a",
        [Group("all", ["tests/a2a"])],
        needs=["a2a"],
        environment={"VIXIO_A2A_CLIENTS": "{venv}/a2a-clients"},
        cpu_s=20,
    ),
    Target(
        "vendors",
        [Group("all", ["tests/vendors_sdk"])],
        needs=["vendors"],
        environment={"VIXIO_TEST_VENDORS": "{venv}/vendors"},
        cpu_s=30,
    ),
    Target(
        "brokers",
        [
            Group(
                "all",
                ["tests/brokers", "tests/load/test_tool_churn.py", "tests/e2e/test_demo.py"],
                parts=3,
            )
        ],
        needs=["brokers"],
        packages=["brokers/packages"],
        environment=BROKER_ENVIRONMENT,
        cpu_s=100,
    ),
    Target(
        "cluster",
        [
            Group(
                "all",
                [
                    "tests/cluster",
                    "tests/contract/test_cluster_contract.py",
                    "tests/contract/test_cluster_commands_contract.py",
                    "tests/e2e/test_workers.py",
                    "tests/e2e/test_api_events_everywhere.py",
                    "tests/e2e/test_reminder_commands.py",
                    "tests/e2e/a2a/test_processes.py",
                    "tests/e2e/test_metrics.py::test_a_scrape_has_the_samples_of_all_processes",
                ],
                parts=4,
            )
        ],
        needs=["brokers", "databases", "haproxy", "faketime"],
        packages=["brokers/packages"],
        environment={
            "VIXIO_TEST_CLUSTER": "1",
            "VIXIO_TEST_DATABASES": "1",
            "VIXIO_TEST_BROKERS": "1",
        },
        cpu_s=280,
    ),
    Target(
        "console",
        [
            Group("all", ["tests/console"], parts=3, options=["--deselect", SPOKEN]),
            # A thousand requests, for what the console and others are told of the API, and what is
            # sent to devices by its buttons.
            Group(
                "api",
                [
                    "tests/e2e/test_api_document.py",
                    "tests/e2e/test_api_picture.py",
                    "tests/e2e/test_upgrade_now.py",
                ],
            ),
            # A browser's microphone leaves out samples where the cores are taken.
            Group("spoken", [SPOKEN], alone=True),
        ],
        needs=["console"],
        packages=["console"],
        environment={"VIXIO_TEST_CONSOLE": "{venv}/console-js"},
        cpu_s=330,
    ),
)
