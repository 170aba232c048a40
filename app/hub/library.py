"""The models on this machine, wherever they lie: used where they are, never copied.

`scan` reads the head of each file, so it belongs on a thread; heads that were read are remembered while a file keeps
its size and time of change.
"""

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app import paths
from app.errors import InUse, ModelError
from app.hub import details, disk, names, places, receipts, shelves
from app.hub.details import Details
from app.hub.names import Kind
from app.hub.places import Layout, Place
from app.hub.shelves import Found
from app.inuse import Uses
from app.sizing import extent
from app.sizing.footprint import Footprint, footprint
from app.sizing.header import Header, read_header
from app.verdicts import Verdicts, parts, verdicts_path


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on disk.  `path` is the file to load; `size` the bytes of all its `files`; `problem` why it cannot be
    loaded, "" where it can; `digest` "" where the SHA-256 is not known; `footprint` None where the head says nothing."""

    path: Path
    name: str
    place: Place
    files: tuple[Path, ...]
    size: int
    kind: Kind
    details: Details
    problem: str = ""
    digest: str = ""
    footprint: Footprint | None = None

    @property
    def removable(self) -> bool:
        """Whether this app fetched it."""
        return self.place.layout is Layout.OWN

    @property
    def named(self) -> bool:
        """Whether it lies as a plain file in a folder of the user's: removable once they agree to just that.

        The stores of other programs are never touched: one file there may stand for several of their models.
        """
        return self.place.named and self.place.layout is Layout.FOLDER

    @property
    def chats(self) -> bool:
        """Whether it is offered for chats."""
        return self.kind is Kind.MODEL and not self.problem


class Library:
    """May be used by several threads."""

    def __init__(
        self,
        own: Path,
        others: Iterable[Place] = (),
        verdicts: Verdicts | None = None,
        uses: Uses | None = None,
    ) -> None:
        """`own` is the folder that this app fetches into; `verdicts` know what did not pass its check, `uses` what other
        processes have open."""
        self._verdicts = verdicts
        self._uses = uses
        self._own = own
        self._first = [Place("Tutti", own, Layout.OWN)]
        self._others: list[Place] = []
        for place in others:
            (self._first if place.layout is Layout.STARTER else self._others).append(place)
        self._named: list[Place] = []
        self._lock = threading.Lock()
        self._heads: dict[tuple[str, int, int], Header | str] = {}
        """Of files by path, size and time of change: what they say, or why they cannot be used."""

    def look_in(self, folders: Iterable[Path]) -> None:
        """Look in these folders, which the user names, instead of those named before."""
        with self._lock:
            self._named = places.named(folders)

    def scan(self) -> list[LocalModel]:
        """All of them; a file that is reached on two ways counts once."""
        with self._lock:
            looked_at = [*self._first, *self._named, *self._others]
        found: list[LocalModel] = []
        seen: set[tuple[int, int]] = set()
        bad = self._verdicts.problems() if self._verdicts else {}
        for place in looked_at:
            for one in shelves.look(place):
                try:
                    states = [path.stat() for path in one.files]
                except OSError:
                    continue
                key = states[0].st_dev, states[0].st_ino
                if key not in seen:
                    seen.add(key)
                    known = bad.get((os.path.realpath(one.files[0]), parts(states)), "")
                    found.append(self._model(place, one, states, known))
        return found

    def _model(
        self, place: Place, one: Found, states: list[os.stat_result], problem: str
    ) -> LocalModel:
        head = self._head(one.files[0], states[0])
        problem = f"its part {one.missing[0]} is missing" if one.missing else problem
        for path, state in zip(one.files[1:], states[1:], strict=True):
            other = self._head(path, state)
            problem = problem or (
                f"its part {path.name}: {other}" if isinstance(other, str) else ""
            )
        size = sum(state.st_size for state in states)
        if isinstance(head, str):
            about = Details(names.kind_of(one.files[0].name) or Kind.MODEL)
            problem = problem or head
        else:
            about = details.of_header(head, one.files[0].name)
        return LocalModel(
            one.files[0],
            one.name,
            place,
            one.files,
            size,
            about.kind,
            about,
            problem,
            one.digest or self._known_digest(place, one),
            None if isinstance(head, str) else footprint(head, size),
        )

    def _head(self, path: Path, state: os.stat_result) -> "Header | str":
        """What it says, or in words why it cannot be read."""
        key = str(path), state.st_size, state.st_mtime_ns
        with self._lock:
            known = self._heads.get(key)
        if known is not None:
            return known
        try:
            read = read_header(path)
            head: Header | str = extent.problem(path, read) or read
        except ModelError as error:
            head = error.what
        with self._lock:
            self._heads[key] = head
        return head

    def _known_digest(self, place: Place, one: Found) -> str:
        if place.layout is not Layout.OWN or len(one.files) != 1:
            return ""
        path = one.files[0]
        parts = path.relative_to(self._own).parts
        root = self._own.joinpath(*parts[:2])
        receipt = receipts.load(root).get("/".join(parts[2:])) if len(parts) > 2 else None
        known = receipt is not None and receipts.holds(receipt, path) and len(receipt.digest) == 64
        return receipt.digest if known and receipt is not None else ""

    def remove(self, model: LocalModel, *, agreed: bool = False, forced: bool = False) -> int:
        """Delete all its files; gives the bytes that are free now.  Raises ModelError, HubError.

        What lies in a folder of the user's goes only when they have `agreed` to just that, and what another process has
        open (InUse) only when it is `forced`.
        """
        if not (model.removable or (model.named and agreed)):
            if model.named:
                raise ModelError(
                    f"“{model.name}” lies in your folder {model.place.path}: Tutti did not put it there, and another "
                    "program may need it.",
                    "Delete its file yourself, or remove it in the window, which asks first.",
                )
            raise ModelError(
                f"“{model.name}” lies in {model.place.path} and belongs to another program ({model.place.name}).",
                "Remove it there.",
            )
        users = self._uses.others(model.files) if self._uses is not None and not forced else ()
        if users:
            raise InUse(
                f"“{model.name}” is in use by {' and '.join(map(str, users))}.",
                "End that first; removed all the same, it cannot be loaded there again.",
            )
        freed = 0
        for path in model.files:
            try:
                freed += path.lstat().st_size  # of a link, no more than that
                path.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise disk.told(error, path.parent) from error
        if model.removable:
            self._forget(model)
        return freed

    def _forget(self, model: LocalModel) -> None:
        """Its receipts, and folders that are empty now."""
        parts = model.path.relative_to(self._own).parts
        root = self._own.joinpath(*parts[:2])
        if len(parts) > 2:
            gone = {path.relative_to(root).as_posix() for path in model.files}
            with receipts.CHANGING:
                kept = {name: one for name, one in receipts.load(root).items() if name not in gone}
                receipts.save(root, kept)
        disk.remove_empty(model.path.parent, self._own)


def here(
    folders: Iterable[Path] = (),
    environment: Mapping[str, str] = os.environ,
    uses: Uses | None = None,
) -> Library:
    """The library of this machine; `folders` are those that the user names."""
    starter = paths.starter_model()
    own = paths.models_dir()
    with_app = [Place("with Tutti", starter, Layout.STARTER)] if starter else []
    shelf = Library(
        own,
        [*with_app, *places.known_places(environment, Path.home())],
        Verdicts(verdicts_path()),
        uses,
    )
    shelf.look_in(folders)
    return shelf


def called(models: Iterable[LocalModel], name: str) -> LocalModel:
    """The one that `name` means: its name, its file's name or its path; raises ModelError."""
    known = list(models)
    low = name.casefold()
    for matches in (
        [one for one in known if name in {one.name, str(one.path)}],
        [one for one in known if low in {one.path.name.casefold(), one.path.stem.casefold()}],
        [one for one in known if one.name.casefold().startswith(f"{low}/")],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise ModelError(
                f"“{names.shown(name)}” means several models: {', '.join(one.name for one in matches)}.",
                "Name one of them.",
            )
    raise ModelError(f"There is no model “{names.shown(name)}” here.", "“tutti models list” shows them.")  # fmt: skip
