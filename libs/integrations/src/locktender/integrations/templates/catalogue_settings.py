"""Where templates come from."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from locktender.integrations.templates.package import is_inside

_MEGABYTE = 1_048_576
_LONGEST_URL = 2_000


class CatalogueSettings(BaseModel):
    """Where templates come from: a folder, or a Git repository. With neither, there are none.

    Attributes:
        folder: one folder or YAML file for each template, straight inside.
        git_url: an https or file URL, without credentials. Takes the place of `folder`.
        git_ref: a branch, a tag or a full commit id.
        git_subfolder: where in the repository the templates are.
        refresh_seconds: how often the repository is asked for news.
        clone_seconds: how long one such asking may take.
        max_bytes: bytes of all templates together, and of what is fetched for them, at most.
    """

    model_config = ConfigDict(frozen=True)

    folder: Path | None = None
    git_url: str | None = Field(default=None, max_length=_LONGEST_URL)
    git_ref: str = Field(default="HEAD", pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}$")
    git_subfolder: str = ""
    refresh_seconds: float = Field(default=600.0, gt=0)
    clone_seconds: float = Field(default=60.0, gt=0)
    max_bytes: int = Field(default=64 * _MEGABYTE, gt=0)

    @field_validator("git_url")
    @classmethod
    def _of_a_known_kind(cls, url: str | None) -> str | None:
        if url is None:
            return None
        scheme, _, rest = url.partition("://")
        known = (scheme == "https" and rest) or (scheme == "file" and rest.startswith("/"))
        if not known or not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError("give an https:// or file:/// URL")
        if "@" in rest.partition("/")[0]:
            raise ValueError("a URL with credentials in it is not taken: it would be visible to every user")
        return url

    @field_validator("git_subfolder")
    @classmethod
    def _within(cls, folder: str) -> str:
        plain = folder.strip("/")
        if plain and (not is_inside(plain) or plain.startswith((":", "-"))):
            raise ValueError("give a plain relative path")
        return plain
