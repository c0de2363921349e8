"""The section ``papers``: documents that the assistant searches."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from vixio.core.text_forms import of_form
from vixio.settings.sections import Section

_url = of_form(r"https?://[^\s/?#@]+[^\s?#]*", "an address such as http://127.0.0.1:11434/v1")


class PaperFolderSection(Section):
    """A folder that is followed. Whose its documents are: everybody's, unless it says."""

    path: str = Field(min_length=1)
    profile: str = Field(default="", max_length=64)
    """Name of a profile of the registry, whose devices may search it alone."""
    person: str = Field(default="", max_length=64)
    """Name of a person, whose devices may search it alone."""

    @model_validator(mode="after")
    def _of_one(self) -> Self:
        if self.profile and self.person:
            raise ValueError("profile and person: a folder belongs to one of them")
        return self


class EmbeddingsSection(Section):
    """A service with OpenAI's ``/embeddings``, which finds what has the same meaning too."""

    base_url: Annotated[str, AfterValidator(_url)]
    """Ending in ``/v1``. The texts of documents, and what is asked, go there."""
    model: str = Field(min_length=1)
    api_key: SecretStr = SecretStr("")
    timeout: float = Field(default=2.0, gt=0, le=60, allow_inf_nan=False)
    """Seconds for a question; documents have ten times that."""
    least_score: float = Field(default=0.3, ge=-1, le=1)
    """Likeness (cosine) below which a passage has another meaning; a matter of the model."""


class PapersSection(Section):
    """Documents. See docs/data.md."""

    enabled: bool = True
    """Whether there is the tool, once there are documents."""
    folders: tuple[PaperFolderSection, ...] = ()
    embeddings: EmbeddingsSection | None = None
    """None: documents are found by their words."""
    max_file_mb: int = Field(default=50, ge=1, le=1_000)
