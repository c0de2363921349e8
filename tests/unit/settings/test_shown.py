"""Secrets planted in settings never come out of what is shown of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, SecretBytes, SecretStr

from vixio.composition.reload import reloaded
from vixio.settings import Settings, load_settings
from vixio.settings.load import override
from vixio.settings.shown import MASK, shareable, shown

ALPHABET = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
SECRETS = st.text(ALPHABET, min_size=12, max_size=40).map(lambda text: f"Zq7{text}")
IN_URLS = st.text(ALPHABET + "/:#?&=%!$", min_size=12, max_size=30).map(lambda t: f"Zq7{t}Zq7")


def text_of(planted: Settings) -> str:
    """Return all that is shown, as the API sends it."""
    found = shown(planted)
    return json.dumps([found.values, found.sources], ensure_ascii=False)


def load(tmp_path: Path, text: str, environment: dict[str, str]) -> Settings:
    path = tmp_path / "vixio.yaml"
    path.write_text(text)
    return load_settings(path, environment)


@settings(max_examples=60, deadline=None)
@given(secret=SECRETS)
def test_every_secret_of_the_model_is_masked(secret: str) -> None:
    planted = Settings.model_validate(
        {
            "server": {"auth": {"secret": secret + "x" * 40}},
            "data": {"database": f"postgresql://me:{secret}@db/vixio"},
            "agent": {"name": "openai", "model": "m", "api_key": secret},
            "tts": [{"name": "openai", "model": "m", "voice": "v", "api_key": secret}, {}],
            "vision": {"model": "m", "api_key": secret},
            "a2a": {"tokens": {"phone": secret + "x" * 20}},
            "cluster": {"url": f"nats://me:{secret}@bus:4222", "secret": secret + "x" * 40},
            "devices": {"02:00:00:00:00:01": {"agent": {"name": "openai", "api_key": secret}}},
            "mcp_servers": {
                "one": {
                    "command": "run",
                    "args": ["--verbose", secret, f"--key={secret}"],
                    "env": {"ANY": secret},
                },
                "two": {
                    "url": f"https://me:{secret}@mcp.example.org/mcp?k={secret}",
                    "headers": {"X-Any": secret},
                },
                "three": {"command": f"run --api-key {secret} password={secret}"},
            },
            "tools": {
                "broker": {"url": f"amqp://me:{secret}@bus"},
                "rest": [
                    {
                        "name": "weather",
                        "description": "The weather.",
                        "url": f"https://me:{secret}@api.example.org/now?appid={secret}",
                        "headers": {"Authorization": f"Bearer {secret}"},
                        "constants": {"appid": secret, "deep": [{"more": secret}]},
                    }
                ],
                "a2a": [{"url": "https://a.example.org", "token": secret}],
            },
        }
    )
    found = text_of(planted)
    assert secret not in found
    assert MASK in found
    assert "mcp.example.org" in found
    assert "api.example.org" in found


@settings(max_examples=200, deadline=None)
@given(secret=IN_URLS, form=st.sampled_from(["https://me:{}@h.org/x", "//:{}@h", "me:{}@h:1"]))
def test_a_password_in_an_address_is_masked_wherever_it_stands(secret: str, form: str) -> None:
    planted = Settings.model_validate({"assistant": {"user_name": f"see {form.format(secret)} !"}})
    found = shown(planted).values["assistant"]["user_name"]
    assert secret not in found
    assert found.startswith("see ")
    assert found.endswith(" !")


class Odd(BaseModel):
    """Options of another package, which knows nothing of masks."""

    model_config = ConfigDict(extra="allow")

    api_key: str = ""
    pin: int = 0
    access_token: Any = None
    hidden: SecretStr | None = None
    raw: SecretBytes = SecretBytes(b"")
    auth: dict[str, Any] | None = None
    retries: int = 3
    max_tokens: int = 100


KEYS = st.sampled_from(
    ["password", "apiKey", "X-Auth", "client_secret", "bearer_token", "passphrase", "PRIVATE_KEY"]
)


@settings(max_examples=100, deadline=None)
@given(secret=SECRETS, number=st.integers(10**9, 10**12), key=KEYS)
def test_what_another_package_names_like_a_secret_is_masked(
    secret: str, number: int, key: str
) -> None:
    odd = Odd.model_validate(
        {
            "api_key": secret,
            "pin": number,
            "access_token": [secret, {"a": secret, "b": number}],
            "hidden": secret,
            "raw": secret.encode(),
            "auth": {"user": secret, "code": number},
            "headers": {"any": secret},
            key: {"deep": [secret, number]},
        }
    )
    plain = Settings()
    planted = plain.model_copy(update={"vad": plain.vad.model_copy(update={"options": odd})})
    found = text_of(planted)
    assert secret not in found
    assert str(number) not in found
    shown_vad = shown(planted).values["vad"]
    assert (shown_vad["retries"], shown_vad["max_tokens"]) == (3, 100)


YAML = """
assistant:
  place: ${HOME_TOWN}
  user_name: "of ${HOME_TOWN}, say"
  wake_words: ["${WORD:computer}", plain]
server:
  port: ${PORT:8000}
agent:
  name: openai
  model: ${MODEL}
  base_url: ${URL}
devices:
  02:00:00:00:00:01:
    agent: {temperature: 0.5}
"""
GIVEN = {
    "HOME_TOWN": "Wolkenkuckucksheim",
    "MODEL": "private-model",
    "URL": "https://llm.invalid/v1/",
    "PORT": "8765",
}


def test_what_a_variable_gave_is_masked_also_where_it_is_inherited(tmp_path: Path) -> None:
    planted = load(tmp_path, YAML, GIVEN)
    found = text_of(planted)
    for secret in ("Wolkenkuckucksheim", "private-model", "llm.invalid", "8765"):
        assert secret not in found
    what = shown(planted)
    assert what.values["assistant"]["wake_words"] == [MASK, "plain"]
    assert what.values["server"]["port"] == MASK
    assert what.sources["agent.model"] == "environment"
    assert what.sources["agent.name"] == "file"
    assert what.sources["assistant.wake_words[1]"] == "file"
    assert "server.http_port" not in what.sources


def test_nor_does_it_come_out_after_a_reload_or_a_copy(tmp_path: Path) -> None:
    first = load(tmp_path, YAML, GIVEN)
    second = load(tmp_path, YAML, {**GIVEN, "MODEL": "another-model"})
    for planted in (reloaded(Settings(), second), reloaded(first, second), second.model_copy()):
        found = text_of(planted)
        for secret in ("Wolkenkuckucksheim", "another-model", "llm.invalid"):
            assert secret not in found


def test_the_command_line_leaves_the_sources_of_everything_else(tmp_path: Path) -> None:
    read = load(tmp_path, "server: {port: 8001}\nlogging: {json: true}\n", {})
    what = shown(override(read, http_port=8009, log_level="debug"))
    assert what.file == str(tmp_path / "vixio.yaml")
    assert what.sources == {
        "server.port": "file",
        "server.http_port": "program",
        "logging.json": "file",
        "logging.level": "program",
    }
    assert shown(override(Settings())).sources == {}


def test_where_values_come_from_does_not_make_settings_differ(tmp_path: Path) -> None:
    assert load(tmp_path, "server:\n  port: ${P}\n", {"P": "8001"}) == Settings.model_validate(
        {"server": {"port": 8001}}
    )


def test_what_is_no_secret_is_shown() -> None:
    what = shown(Settings.model_validate({"server": {"port": 8001}}))
    assert set(what.values) == set(Settings.model_fields)
    assert what.values["server"]["auth"] == {
        "enabled": False,
        "secret": "",
        "token_lifetime_days": 30,
    }
    assert what.values["assistant"]["history_tokens"] == 6000
    assert what.values["tts"]["name"] == "espeak"
    assert what.values["data"]["database"] == ""
    assert what.sources == {"server.port": "program"}
    assert MASK not in text_of(Settings())


def test_words_of_several_are_shown_as_in_a_file() -> None:
    own = {"corrections": {"weak see oh": "Vixio"}, "wake_reply": {"hi esp": "Yes?"}}
    found = shown(Settings.model_validate({"assistant": own})).values["assistant"]
    assert found["corrections"] == {"weak see oh": "Vixio"}
    assert found["wake_reply"] == {"hi esp": ["Yes?"]}


@pytest.mark.parametrize("text", ["at 12:30 in https://a.example.org/x, say", "a: b", "C:/x y@z"])
def test_texts_without_a_password_are_left_alone(text: str) -> None:
    planted = Settings.model_validate({"assistant": {"place": text}})
    assert shown(planted).values["assistant"]["place"] == text


def test_a_profile_is_shared_without_its_secrets() -> None:
    said = "The password of the castle is swordfish: never say it. See https://example.org/?q=1"
    content = {
        "instructions": said,
        "wake_reply": {"*": ["The password?"]},
        "daily_turns": 20,
        "tools": {"allow": ["get_time"], "deny": []},
        "vad": {"proxy": "http://me:planted@proxy.test:3128", "pin": 4711},
        "agent": {
            "name": "openai",
            "max_tokens": 300,
            "api_key": "sk-planted",
            "base_url": "https://me:planted@example.org/v1",
            "extra_headers": {"X-Team": "planted", "X-Other": "${TEAM}"},
            "extra_body": {"stop": ["planted"]},
        },
        "asr": [{"name": "openai", "api_key": "${ASR_KEY:planted}"}, {"name": "pocketsphinx"}],
        "tts": {"name": "openai", "api_key": ["planted"], "voice": "nova"},
    }
    found = shareable(content)
    assert "planted" not in json.dumps(found)
    assert found == {
        "instructions": said,
        "wake_reply": {"*": ["The password?"]},
        "daily_turns": 20,
        "tools": {"allow": ["get_time"], "deny": []},
        "vad": {"proxy": "http://***@proxy.test:3128"},
        "agent": {
            "name": "openai",
            "max_tokens": 300,
            "base_url": "https://***@example.org/v1",
            "extra_headers": {"X-Other": "${TEAM}"},
            "extra_body": {"stop": []},
        },
        "asr": [{"name": "openai", "api_key": "${ASR_KEY}"}, {"name": "pocketsphinx"}],
        "tts": {"name": "openai", "api_key": [], "voice": "nova"},
    }
