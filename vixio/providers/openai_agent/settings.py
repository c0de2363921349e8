"""Options of the agents that are one model each. Times are in seconds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from vixio.language.model_output import Further
from vixio.providers.openai_client import OpenAIConnection
from vixio.providers.openai_url import BaseUrl, ServerUrl

Seconds = Annotated[float, Field(gt=0)]

Marker = Annotated[str, Field(pattern=r"^[^\w\s]\S{1,62}$")]
"""A marker in a model's text; it does not begin with a letter, so that no word is one."""


class TurnSettings(BaseModel):
    """Options of every model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_tool_rounds: int = Field(
        default=8, ge=2, description="Model calls of one turn; the last has to answer in words"
    )
    first_token_timeout: Seconds = Field(
        default=15.0, description="Until the model begins to answer, all tries together"
    )
    stall_timeout: Seconds = Field(default=15.0, description="Between two pieces of one answer")
    turn_timeout: Seconds = Field(
        default=45.0,
        description="Of waiting for all model calls of one turn, not while words come steadily",
    )
    retries: int = Field(default=1, ge=0, le=5, description="Further tries before the first token")


class SamplingSettings(TurnSettings):
    """Options of the requests to a language model; unset: the model's own default."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = None
    parallel_tool_calls: bool | None = Field(
        default=None, description="May it call several tools at once?"
    )
    max_tools: int = Field(
        default=128, ge=0, description="Tools of one request, the most useful; 0: any number"
    )
    reasoning_markers: tuple[tuple[Marker, Marker], ...] = Field(
        default=(),
        description='Further pairs around reasoning in its text, as in [["<ponder>", "</ponder>"]]',
    )
    removed_tokens: tuple[Marker, ...] = Field(
        default=(), description="Further control tokens that are left out of its text"
    )
    include_usage: bool = Field(
        default=True, description="Ask for the token count; some old servers refuse the question"
    )
    extra_body: dict[str, Any] | None = Field(
        default=None, description="Further fields of the request, as in {enable_thinking: false}"
    )

    @property
    def further_markers(self) -> Further:
        """What is left out of the model's text besides the markers of known families."""
        return Further(self.reasoning_markers, self.removed_tokens)


class OpenAIAgentSettings(SamplingSettings):
    """A model behind the Chat Completions or the Responses API, OpenAI's or a compatible one."""

    model: str = "gpt-4o-mini"
    api: Literal["chat_completions", "responses"] = "chat_completions"
    base_url: BaseUrl | None = Field(
        default=None, description="Of a compatible server, ending in /v1"
    )
    api_key: SecretStr | None = Field(default=None, description="Default: OPENAI_API_KEY")
    connect_timeout: Seconds = 5.0
    store: bool = Field(default=False, description="May OpenAI keep the conversation?")
    thinking: bool = Field(
        default=False, description="May it think before it speaks? Only where a server can be told"
    )
    chat_id: bool = Field(
        default=False, description="FastGPT: the conversation is kept there, by its chatId"
    )

    @property
    def connection(self) -> OpenAIConnection:
        """Where the model is."""
        return OpenAIConnection(
            base_url=self.base_url,
            api_key=self.api_key,
            connect_timeout=self.connect_timeout,
            retries=self.retries,
        )


class LiteLLMAgentSettings(SamplingSettings):
    """A model behind LiteLLM; ``model`` is LiteLLM's name, ``provider/model``."""

    model: str
    base_url: ServerUrl | None = None
    api_key: SecretStr | None = Field(
        default=None, description="Default: the provider's own variable"
    )


class PhraseBookAgentSettings(TurnSettings):
    """The phrase book: no network, no key."""

    first_token_timeout: Seconds = Field(
        default=2.0, description="Until it answers; phrases of new tools take some ms"
    )
    language: str = Field(default="", description="Of its book; empty: that of the device")
