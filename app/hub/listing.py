"""What is asked of a hub and what it answers, as plain values.  Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from app.hub.names import Kind
from app.hub.offers import Offer

Sort = Literal["trendingScore", "downloads", "likes", "lastModified", "createdAt"]


@dataclass(frozen=True, slots=True)
class Query:
    """What to search for; "" where it does not matter.  `language` and `licence` are the hub's own short names;
    `size` is a range of parameters as the hub writes it (`min:0,max:6B`)."""

    text: str = ""
    sort: Sort = "trendingScore"
    language: str = ""
    licence: str = ""
    task: str = ""
    size: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A repository in a list; numbers are 0 and words "" where the hub does not say."""

    repo: str
    downloads: int = 0
    likes: int = 0
    gated: bool = False
    changed: str = ""
    licence: str = ""
    languages: tuple[str, ...] = ()
    task: str = ""
    parameters: int = 0
    context: int = 0
    architecture: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Some of what was found, and the address of the rest, "" when that was all."""

    found: tuple[Found, ...]
    next_page: str = ""


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository at one commit: what can be downloaded from it, and what else lies there."""

    about: Found
    commit: str
    offers: tuple[Offer, ...]
    others: Mapping[str, Kind]

    @property
    def repo(self) -> str:
        return self.about.repo
