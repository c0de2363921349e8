"""A mistake in the settings is one line with the file, the place and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vixio.core.errors import ConfigError
from vixio.providers.registry import names
from vixio.settings import load_settings

MODEL = "agent:\n  name: openai\n"


def failure(path: Path, environment: dict[str, str] | None = None) -> str:
    """Return the message without the path at its beginning."""
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environment or {})
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # unknown keys
        ("server:\n  prt: 1", ":2: server.prt: there is no such key, did you mean 'port'?"),
        (
            "end_silence_ms: 1",
            (
                ":1: end_silence_ms: there is no such key, did you mean "
                "'listening.end_silence_ms'? Indent it below `listening:`"
            ),
        ),
        (
            "timeouts:\n  secret: x",
            ":2: timeouts.secret: there is no such key, did you mean 'server.auth.secret'?",
        ),
        (
            "logging:\n  zzz: 1",
            ":2: logging.zzz: there is no such key (known here: level, json, words)",
        ),
        (
            f"{MODEL}  api_key: k\n  temprature: 1",
            ":4: agent.temprature: there is no such key, did you mean 'temperature'?",
        ),
        (
            "vad:\n  nme: silero",
            ":2: vad.nme: there is no such key, did you mean 'name'?",
        ),
        # within lists and mappings of the user's own keys
        (
            (
                "agent:\n  name: fallback\n  models:\n"
                "  - name: phrasebook\n  - name: openai\n    modl: x"
            ),
            ":6: agent.models[1].modl: there is no such key, did you mean 'model'?",
        ),
        (
            "agent:\n  name: fallback\n  models:\n  - name: phrasebook\n    retries: 9",
            ":5: agent.models[0].retries: expected a number from 0 to 5, found 9",
        ),
        (
            "agent: {name: fallback}",
            ":1: agent.models: is required",
        ),
        (
            "devices:\n  aa:bb:\n    nme: x",
            ":3: devices.aa:bb.nme: there is no such key, did you mean 'name'?",
        ),
        # wrong values
        (
            "assistant:\n  instructions: It is {tiem}.",
            (
                ":2: assistant.instructions: there is no {tiem}: did you mean {time}? "
                "For the text itself write {{tiem}}"
            ),
        ),
        (
            "assistant:\n  time_zone: Mars/Crater",
            (
                ":2: assistant.time_zone: expected a time zone such as Europe/Berlin, "
                "found 'Mars/Crater'"
            ),
        ),
        (
            "agent:\n  first_token_timeout: 25",
            (
                ":1: agent: first_token_timeout (25 s) must be below timeouts.agent_first (20 s), "
                "which ends the turn"
            ),
        ),
        (
            "listening:\n  end_silence_ms: soon",
            ":2: listening.end_silence_ms: expected a whole number, found 'soon'",
        ),
        (
            "listening:\n\n  end_silence_ms: 5",
            ":3: listening.end_silence_ms: expected a number from 100 to 10000, found 5",
        ),
        ("server: {port: 1.5}", ":1: server.port: expected a whole number, found 1.5"),
        (
            "server: {workers: many}",
            ":1: server.workers: expected a number from 1 to 64, or auto, found 'many'",
        ),
        (
            "server: {workers: 65}",
            ":1: server.workers: expected a number from 1 to 64, or auto, found 65",
        ),
        (
            "server: {workers: 1.5}",
            ":1: server.workers: expected a number from 1 to 64, or auto, found 1.5",
        ),
        ("server: {port: }", ":1: server.port: expected a whole number, found nothing"),
        (
            "timeouts: {turn: 0}",
            ":1: timeouts.turn: expected a number above 0 and up to 3600, found 0",
        ),
        ("timeouts: {turn: .inf}", ":1: timeouts.turn: expected a finite number, found inf"),
        ("output: {frame_ms: 30}", ":1: output.frame_ms: expected 20, 40 or 60, found 30"),
        ("server: {host: ''}", ":1: server.host: expected text of at least 1 character, found ''"),
        ("asr: {model: [7]}", ":1: asr.model: expected a path, found a list"),
        (
            "asr: {language: ko}",
            (
                ":1: asr.language: expected de, en, es, fr, ja or zh, since there are no other "
                "phrase books, found 'ko'"
            ),
        ),
        ("server: 5", ":1: server: expected a mapping (`key: value` lines), found 5"),
        (
            "tts: espeak",
            (
                ":1: tts: expected a mapping (`key: value` lines), found 'espeak': "
                "write `tts: {name: espeak}`"
            ),
        ),
        (
            "assistant:\n  wake_reply:\n    - a\n    - [b]",
            ":4: assistant.wake_reply[1]: expected text, found a list",
        ),
        (
            "assistant:\n  wake_reply:\n    hi esp: {a: b}",
            ":3: assistant.wake_reply.hi esp: expected a text or a list of texts",
        ),
        (
            "assistant:\n  wake_reply:\n    hi esp: [[b]]",
            ":3: assistant.wake_reply.hi esp[0]: expected text, found a list",
        ),
        (
            'assistant:\n  wake_reply:\n    "!": Yes?',
            ':3: assistant.wake_reply.!: expected a wake word, or "*" for all others',
        ),
        (
            "assistant:\n  corrections: [a]",
            (
                ":2: assistant.corrections: expected a mapping (`key: value` lines), found a list: "
                "write `NAME:` for each dash, and the keys indented below it"
            ),
        ),
        (
            "assistant:\n  pronunciations:\n    Vixio: [a]",
            ":3: assistant.pronunciations.Vixio: expected text, found a list",
        ),
        (
            "devices:\n  a:\n    pronunciations: {Vixio: ''}",
            (
                ":3: devices.a.pronunciations: expected words of 1 to 80 characters on both sides, "
                "found 'Vixio': ''"
            ),
        ),
        (
            "assistant: {wake_words: hi}",
            ":1: assistant.wake_words: expected a list, found 'hi': write [\"hi\"]",
        ),
        (
            "assistant:\n  wake_words:\n    - a\n    - [b]",
            ":4: assistant.wake_words[1]: expected text, found a list",
        ),
        (
            "assistant: {language: Klingon!}",
            ":1: assistant.language: expected a language tag such as en or zh-CN, found 'Klingon!'",
        ),
        (
            "server: {public_host: 'http://x/'}",
            (
                ":1: server.public_host: expected a host name or address alone, without http:// "
                "and port, found 'http://x/'"
            ),
        ),
        (
            "server: {allowed_origins: ['*']}",
            (
                ":1: server.allowed_origins: '*' would let every web page that a user opens talk "
                "as a device, and read its answers: list the pages, such as "
                "https://console.example.org"
            ),
        ),
        (
            "server: {allowed_origins: [page.example]}",
            (
                ":1: server.allowed_origins: expected origins such as https://console.example.org, "
                "found 'page.example'"
            ),
        ),
        (
            "server: {public_host: 'x:80'}",
            (
                ":1: server.public_host: expected a host name or address alone, without http:// "
                "and port, found 'x:80'"
            ),
        ),
        (
            "logging: {level: loud}",
            (
                ":1: logging.level: expected 'TRACE', 'DEBUG', 'INFO', 'WARNING', 'ERROR' or "
                "'CRITICAL', found 'LOUD'"
            ),
        ),
        (
            f"{MODEL}  api_key: k\n  temperature: 9",
            ":4: agent.temperature: expected a number from 0 to 2, found 9",
        ),
        # values that do not go together
        (
            "listening: {exit_threshold: 0.9}",
            ":1: listening: exit_threshold (0.9) must not be above threshold (0.5)",
        ),
        (
            "listening: {min_pause_ms: 900}",
            ":1: listening: min_pause_ms (900) must not be above end_silence_ms (500)",
        ),
        (
            "server: {port: 8003}",
            ":1: server: port and http_port must differ, both are 8003: change one of them",
        ),
        (
            "server:\n  auth: {enabled: true, secret: short}",
            (
                ":2: server.auth: expected a secret of at least 16 bytes, such as "
                "`openssl rand -hex 32` prints, or none: one is made then"
            ),
        ),
        # providers
        (
            "tts:\n  name: espek",
            (
                ":2: tts.name: there is no tts provider 'espek', did you mean 'espeak'? "
                f"(known: {', '.join(names('tts'))}; packages can add others)"
            ),
        ),
        ("vad: {name: 7}", ":1: vad.name: expected the name of a provider, found 7"),
        ("agent: {name: litellm}", ":1: agent.model: is required"),
        # variables
        (
            "server:\n  host: ${NOPE}",
            (
                ":2: server.host: the environment variable NOPE is not set: set it, "
                "or write ${NOPE:default}"
            ),
        ),
        (
            "server:\n  host: ${EMPTY}",
            (
                ":2: server.host: the environment variable EMPTY is empty: set it, "
                "or write ${EMPTY:default}"
            ),
        ),
        (
            "server:\n  host: a${b",
            ":2: server.host: expected ${VAR} or ${VAR:default}; to mean ${ itself write $${",
        ),
        # YAML
        ("a: b: c", ':1: a text with a colon and a space in it needs quotes: "…"'),
        (
            "server:\n\tport: 1",
            ":2: there is a tab in column 1: YAML takes spaces only, write spaces instead",
        ),
        (
            "server: {host: ${X}}",
            ':1: within {…} or […] a variable needs quotes: write "${VAR}"',
        ),
        ("a: !odd x", ":1: not valid YAML: could not determine a constructor for the tag '!odd'"),
        (
            "a: 1\n---\nb: 1",
            ":2: a second document begins here (---): a file holds one, remove the line",
        ),
        ("server: {}\nserver: {}", ":2: server: stands in line 1 already: keep one of them"),
        ("a: &x [*x]", ":1: a[0]: an alias must not contain itself"),
        ("- a", ": expected sections (`server:` …), found a list; is it a settings file?"),
        ("words", ": expected sections (`server:` …), found a text; is it a settings file?"),
        ("? [a]\n: b", ": a key must be a word (line 1)"),
        ("\0", ": not valid YAML: unacceptable character #x0000: special characters are not "),
    ],
)
def test_one_line_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(text, encoding="utf-8")
    found = failure(path, {"EMPTY": ""})
    if text == "\0":  # pyyaml goes on with the kind of stream
        assert found.startswith(message)
    else:
        assert found == message


def test_the_first_of_several_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("logging:\n  level: x\nserver:\n  port: x\nlistening:\n  a: 1\n")
    assert failure(path).startswith(":2: logging.level: ")
    assert failure(path).endswith(" (and 2 more)")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("server:\n  auth:\n    secret: [hunter2hunter2]", "server.auth.secret"),
        ("server:\n  auth:\n    secret: {hunter2: hunter2}", "server.auth.secret"),
        (f"{MODEL}  api_key: [hunter2]", "agent.api_key"),
        (
            "agent:\n  name: fallback\n  models:\n  - name: openai\n    api_key: [hunter2]",
            "agent.models[0].api_key",
        ),
        (f"{MODEL}  apikey: hunter2\n  api_key: k", "agent.apikey"),
        ("server:\n  auth:\n    enabled: true\n    secret: hunter2", "server.auth"),
        ("server:\n  auth:\n    secret: ${hunter2", "server.auth.secret"),
        ("server:\n  auth: {secret: 1}\n  auth: {secret: hunter2}", "server.auth"),
        ("password: hunter2", "password"),
    ],
)
def test_a_secret_is_never_shown(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(text)
    message = failure(path)
    assert "hunter2" not in message
    assert f" {place}: " in message


def test_a_long_value_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(f"server: {{port: {'x' * 500}}}")
    assert len(failure(path)) < 150


def test_the_file_itself(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    assert failure(missing) == ": no such file; `vixio init DIR` writes one to start from"
    assert failure(tmp_path) == (
        f": is a folder, not a file: give the file in it, such as {tmp_path / 'vixio.yaml'}"
    )
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"a: \xff\n")
    assert failure(binary) == (
        ":1: is not UTF-8 text (byte 3 of the file): save it in the encoding UTF-8"
    )


KEYS = st.sampled_from(
    [
        "server",
        "port",
        "access",
        "registry",
        "secret",
        "listening",
        "vad",
        "asr",
        "name",
        "agent",
        "extra_body",
        "wake_words",
        "assistant",
        "logging",
        "json",
        "<<",
        "1",
        "options",
        "frame_ms",
        "output",
    ]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.dates(), st.binary(max_size=4),
    st.text(max_size=8),
    st.sampled_from(["${A}", "${", "$${", "openai", "silero", "litellm", "*", "2024-99-99", "="]),
)  # fmt: skip
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(KEYS | SCALARS, inner, max_size=4)
    ),
    max_leaves=12,
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="ab:-[]{}&*!|>'\"%@`#,?<\n\t ${}=~.0", max_size=60),
    TREES.map(lambda tree: yaml.safe_dump(tree, allow_unicode=True)),
    TREES.map(lambda tree: yaml.safe_dump({"server": tree, "agent": tree})),
)


@given(text=TEXTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_stands_there_gets_settings_or_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        load_settings(path, {"A": "1"})
    except ConfigError as error:
        message = str(error)
        assert message.startswith(str(path))
        assert len(message.splitlines()) == 1
