"""ASR by a FunASR runtime server: the provider and its streams."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from weakref import WeakSet

from vixio.core.errors import ProviderError
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import ASRProvider, Recognition, SpeechHints
from vixio.providers.funasr_server import messages
from vixio.providers.funasr_server.connection import Connection
from vixio.providers.funasr_server.messages import Result
from vixio.providers.funasr_server.pool import Pool
from vixio.providers.funasr_server.settings import NAME, FunASRServerSettings
from vixio.providers.funasr_server.transcript import Transcript
from vixio.providers.registry import ProviderFactory
from vixio.providers.sent_utterance import SentUtterance
from vixio.providers.service_socket import Frame
from vixio.providers.tool_words import tool_words

_numbers = count(1)


class FunASRServerASRProvider(ASRProvider):
    """The provider, with a pool of connections that successive utterances share."""

    name = NAME

    def __init__(self, settings: FunASRServerSettings | None = None) -> None:
        self.settings = settings or FunASRServerSettings()
        self.pool = Pool(self.settings)
        self._hotwords: tuple[Sequence[ToolDefinition], str] | None = None
        self._closed = False
        self._streams = WeakSet[FunASRServerStream]()

    async def start(self) -> None:
        """Read the certificates, without a connection: the server may start later.

        Raises ProviderUnavailable if ``ca_file`` cannot be used.
        """
        await self.pool.start()

    async def verify(self) -> bool:
        """Connect once. The protocol has no question that would show whether the models work.

        Raises ProviderError if the server cannot be reached, or refuses us.
        """
        await self.pool.try_connection()
        return False

    def open(self, hints: SpeechHints) -> FunASRServerStream:
        stream = FunASRServerStream(self, self._words(hints.tools))
        self._streams.add(stream)
        return stream

    def prepare(self, hints: SpeechHints) -> None:
        self._words(hints.tools)

    async def close(self) -> None:
        self._closed = True
        await self.pool.close()
        for stream in list(self._streams):
            stream.changed()  # what waits for words learns of it

    @property
    def closed(self) -> bool:
        """Whether the provider is closed."""
        return self._closed

    def _words(self, tools: Sequence[ToolDefinition]) -> str:
        """Return the field ``hotwords``, cached for the last list of tools."""
        if self._hotwords is not None and self._hotwords[0] is tools:
            return self._hotwords[1]
        settings = self.settings
        weight = settings.tool_word_weight
        words = dict.fromkeys(tool_words(tools), weight) if weight else {}
        text = messages.hotword_text({**words, **settings.hotwords}, settings.hotword_format)
        if isinstance(tools, tuple):  # a list may change
            self._hotwords = (tools, text)
        return text


class FunASRServerStream(SentUtterance[Connection]):
    """One utterance. After the loss of its connection it is sent again once, over a new one."""

    def __init__(self, provider: FunASRServerASRProvider, hotwords: str) -> None:
        settings = provider.settings
        super().__init__(NAME, piece_s=settings.piece_ms / 1000, timeout=settings.timeout)
        self.wav_name = f"vixio-{next(_numbers)}"
        self._provider = provider
        self._hotwords = hotwords
        self.begin()

    def heard(self, result: Result) -> None:
        """Take a result of this utterance."""
        if result.error:
            text = f"the server reports: {result.error}"
            self.failed(ProviderError(NAME, text, retryable=False, reason="service"))
            return
        self._transcript.take(result)
        self.report(self._transcript.words.text)
        self.changed()

    async def connect(self, *, fresh: bool) -> Connection:
        connection = await self._provider.pool.acquire(self._hotwords, fresh=fresh)
        connection.attach(self)
        return connection

    async def introduce(self, link: Connection) -> None:
        settings = self._provider.settings
        await link.send(messages.start(settings, self.wav_name, self._hotwords))

    def release(self, link: Connection) -> None:
        self._provider.pool.release(link)

    def discard(self, link: Connection) -> None:
        self._provider.pool.discard(link)

    def last(self, number: int) -> Sequence[Frame]:
        self._transcript.end()
        return (messages.END,)

    def result(self) -> Recognition:
        words = self._transcript.words
        return Recognition(words.text, language=words.language, emotion=words.emotion)

    @property
    def complete(self) -> bool:
        return self._transcript.complete

    def begin(self) -> None:
        online = self._provider.settings.mode == "online"
        self._transcript = Transcript(self._provider.pool.habits, online=online)

    def check_provider(self) -> None:
        if self._provider.closed:
            raise ProviderError(NAME, "the provider is closed", retryable=False)

    @property
    def patience(self) -> float | None:
        return self._transcript.patience

    def settle(self) -> None:
        self._transcript.settle()

    def gave_up(self) -> None:
        self._provider.pool.habits.doubt()


FACTORY = ProviderFactory(
    settings_model=FunASRServerSettings,
    create=FunASRServerASRProvider,
    languages=lambda settings: None if settings.language == "auto" else (settings.language,),
    servers="url",
)
