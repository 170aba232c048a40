"""The inline phase: a paragraph's source to styled runs of text.  Without Qt; done only for what is shown.

Nothing is dropped and nothing is fetched: a picture is shown as its description and its address, raw HTML as it
was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Flag, auto
from typing import TYPE_CHECKING

from app.ui.markdown import References, parser

if TYPE_CHECKING:
    from markdown_it.token import Token

ADDRESS_LIMIT = 300
"""Characters of an address that are shown; the middle of a longer one is left out."""

_MARKUP = re.compile(r"[\\`*_\[\]<>&!~]|https?://")
_BARE_LINK = re.compile(r"https?://[^\s<>\"`|\\^{}]+")
_AFTER_LINK = ".,;:!?'*_~)]"


class Look(Flag):
    """How a run looks."""

    PLAIN = 0
    BOLD = auto()
    ITALIC = auto()
    CODE = auto()
    STRIKE = auto()
    LINK = auto()
    QUIET = auto()


@dataclass(frozen=True, slots=True)
class Run:
    """Text of one look; `link` is the address it leads to, or ""."""

    text: str
    look: Look = Look.PLAIN
    link: str = ""


_OPEN = {"strong_open": Look.BOLD, "em_open": Look.ITALIC, "s_open": Look.STRIKE}
_CLOSE = {"strong_close": Look.BOLD, "em_close": Look.ITALIC, "s_close": Look.STRIKE}


def runs(source: str, references: References) -> list[Run]:
    """The runs of this paragraph; a line break in it is a newline in a run."""
    if _MARKUP.search(source) is None:
        return [Run(source)] if source else []
    md = parser()
    tokens: list[Token] = []
    md.inline.parse(source, md, {"references": references}, tokens)
    return [part for run in _merged(_styled(tokens)) for part in _linked(run)]


def is_web(address: str) -> bool:
    """Whether this address may be offered to a browser."""
    return address.lower().startswith(("http://", "https://"))


def shown_address(address: str) -> str:
    """The address as it is shown: bounded in length."""
    if len(address) <= ADDRESS_LIMIT:
        return address
    return f"{address[: ADDRESS_LIMIT - 50]}…{address[-49:]}"


def _styled(tokens: list[Token]) -> Iterator[Run]:
    look, link = Look.PLAIN, ""
    for token in tokens:
        kind = token.type
        if kind in _OPEN:
            look |= _OPEN[kind]
        elif kind in _CLOSE:
            look &= ~_CLOSE[kind]
        elif kind == "link_open":
            link = str(token.attrs.get("href", ""))
        elif kind == "link_close":
            link = ""
        elif kind == "image":
            yield from _picture(token, look, link)
        else:
            yield _text(token, look | Look.LINK if link else look, link)


def _text(token: Token, look: Look, link: str) -> Run:
    if token.type in ("softbreak", "hardbreak"):
        return Run("\n", look, link)
    if token.type == "code_inline":
        return Run(token.content, look | Look.CODE, link)
    return Run(token.content, look, link)


def _picture(token: Token, look: Look, link: str) -> Iterator[Run]:
    """What stands for a picture: its description, then its address."""
    description = "".join(run.text for run in _styled(token.children or []))
    address = shown_address(str(token.attrs.get("src", "")))
    if link:
        look |= Look.LINK
    yield Run(f"{description} " if description else "", look, link)
    yield Run(f"({address})", look | Look.QUIET, link)


def _merged(parts: Iterator[Run]) -> list[Run]:
    """Neighbours of the same look as one run."""
    merged: list[Run] = []
    for run in parts:
        if not run.text:
            continue
        if merged and (merged[-1].look, merged[-1].link) == (run.look, run.link):
            merged[-1] = replace(run, text=merged[-1].text + run.text)
        else:
            merged.append(run)
    return merged


def _linked(run: Run) -> Iterator[Run]:
    """The run with web addresses in it made into links."""
    if run.link or run.look & (Look.CODE | Look.QUIET) or "://" not in run.text:
        yield run
        return
    at = 0
    for match in _BARE_LINK.finditer(run.text):
        address = match.group().rstrip(_AFTER_LINK)
        end = match.start() + len(address)
        if match.start() > at:
            yield replace(run, text=run.text[at : match.start()])
        yield Run(address, run.look | Look.LINK, address)
        at = end
    if at < len(run.text):
        yield replace(run, text=run.text[at:])
