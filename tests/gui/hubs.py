"""A hub for the window, by a script: what it has, and what was asked."""

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.errors import HubError
from app.hub.curated import Recommended
from app.hub.library import Library
from app.hub.listing import Found, Page, Query, Repository
from app.hub.names import Kind
from app.hub.offers import Listed, offers
from app.hub.remote import RemoteModel
from app.hub.shelf import Shelf
from app.hub.standing import Phase, Row, Standing, State
from app.remembered import Remembered, remembered_path
from app.ui.model_finder import Sources

COMMIT = "c" * 40
SMALL = Recommended("o/small", "Small 1B", 800_000_000, ("en",), "mit", "Quick.")


@dataclass
class FakeDownloads:
    """Rows as the test sets them."""

    folder: Path = Path("/models")
    asked: list[tuple[str, str]] = field(default_factory=list)
    kept: dict[str, Row] = field(default_factory=dict)

    def rows(self) -> list[Row]:
        return list(self.kept.values())

    def add(self, model: RemoteModel) -> str:
        self.asked.append(("add", model.title))
        standing = Standing(0, model.size, Phase.CONNECTING)
        path = model.target(self.folder)
        self.kept[model.key] = Row(model.key, model, State.RUNNING, standing, path)
        return model.key

    def pause(self, key: str) -> None:
        self._change("pause", key, State.PAUSED)

    def resume(self, key: str) -> None:
        self._change("resume", key, State.RUNNING)

    def cancel(self, key: str) -> None:
        self.asked.append(("cancel", self.kept.pop(key).model.title))

    def _change(self, what: str, key: str, state: State) -> None:
        self.asked.append((what, self.kept[key].model.title))
        self.kept[key] = replace(self.kept[key], state=state, error=None)

    def move(self, state: State, done: float = 0.0, error: HubError | None = None, **more: object) -> None:  # fmt: skip
        """Let all downloads stand so; `done` is a share."""
        for key, row in self.kept.items():
            total = row.model.size
            standing = Standing(int(done * total), total, Phase.FETCHING, **more)  # type: ignore[arg-type]
            self.kept[key] = replace(row, state=state, standing=standing, error=error)


@dataclass
class FakeHub:
    """Answers when `gate` is open."""

    names: list[str] = field(default_factory=lambda: [f"o/tiny-{n:02d}" for n in range(45)])
    downloads: FakeDownloads = field(default_factory=FakeDownloads)
    asked: list[object] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    error: HubError | None = None
    card_text: str = ""
    gated: bool = False
    more: tuple[Listed, ...] = ()
    """Files of each repository beside the usual ones."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    host: str = "hub.example"
    endpoint: str = "https://hub.example"

    def __post_init__(self) -> None:
        self.gate.set()

    async def _answer(self, what: object) -> None:
        self.asked.append(what)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(str(what))
            raise
        if self.error is not None:
            raise self.error

    async def search(self, query: Query, page: str = "") -> Page:
        await self._answer(query)
        start = int(page or 0)
        hits = [name for name in self.names if query.text in name]
        found = tuple(Found(name, downloads=7, licence="mit") for name in hits[start : start + 20])
        return Page(found, str(start + 20) if start + 20 < len(hits) else "")

    async def repository(self, repo: str, revision: str = "") -> Repository:
        await self._answer(("repository", repo))
        listed = [
            Listed("m-Q2_K.gguf", 10**9, "1" * 64),
            Listed("m-Q4_K_M.gguf", 2 * 10**9, "2" * 64),
            *(Listed(f"m-F16-{n:05d}-of-00002.gguf", 4 * 10**9, str(n) * 64) for n in (1, 2)),
            *self.more,
        ]
        about = Found(repo, licence="mit", gated=self.gated, parameters=3 * 10**9, context=8192)
        return Repository(
            about, COMMIT, offers(repo, COMMIT, listed), {"mmproj.gguf": Kind.PROJECTOR}
        )

    async def card(self, repo: str, commit: str) -> str:
        return self.card_text

    async def fit(self, model: RemoteModel) -> str:
        return f"6 chats of 8k for {model.title}"


def sources(library: Library | None = None, hub: FakeHub | None = None) -> Sources:
    shelf = Shelf(library or Library(Path("/none")), Remembered(remembered_path()))
    return Sources(shelf, hub or FakeHub(), (SMALL,))
