"""All downloads of this app: starts and stops their threads, and remembers them over a restart.

Every method may be called by any thread and returns at once; `changed` is called on whichever thread saw a change, and
must not block.  What is going on inside a download is asked with `rows`, as often as somebody looks.
"""

import itertools
import json
import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app import privatefile
from app.errors import HubError, HubProblem
from app.hub import remote
from app.hub.access import Access
from app.hub.download import Download
from app.hub.line import Cut
from app.hub.queue import Entry, Queue
from app.hub.remote import RemoteModel
from app.hub.standing import Phase, Row, Standing, State
from app.hub.transfer import Patience, SharedBucket

_log = logging.getLogger(__name__)
_NAME = "downloads.json"
_MOST_BYTES = 4_000_000


class Downloads:
    """The list of downloads into `folder`."""

    def __init__(
        self,
        folder: Path,
        access: Access,
        *,
        changed: Callable[[], None] = lambda: None,
        patience: Patience | None = None,
    ) -> None:
        self._folder = folder
        self._access = access
        self._changed = changed
        self._patience = patience or Patience(patient=True)
        self._bucket = SharedBucket()
        self._lock = threading.RLock()
        self._queue = Queue()
        self._running: dict[str, Download] = {}
        self._resting: dict[str, Download] = {}
        self._threads: set[threading.Thread] = set()
        self._closed = False

    def use(self, access: Access) -> None:
        """Ask so from the next start on."""
        with self._lock:
            self._access = access

    def restore(self) -> None:
        """Go on with what was not done when the app ended; what rested or failed rests."""
        with self._lock:
            for model, paused in _load(self._folder / _NAME):
                self._queue.add(model, paused=paused)
            resting = [e.model for e in self._queue.entries if e.state is State.PAUSED]
        if resting:
            self._spawn(partial(self._measure, resting), "look at parts")
        self._advance()

    def _measure(self, models: list[RemoteModel]) -> None:
        for model in models:
            download = self._download(model)
            download.measure()
            with self._lock:
                self._resting.setdefault(model.key, download)
        self._changed()

    def rows(self) -> list[Row]:
        """In order of arrival."""
        with self._lock:
            return [self._row(entry) for entry in self._queue.entries]

    def _row(self, entry: Entry) -> Row:
        key = entry.model.key
        download = self._running.get(key) or self._resting.get(key)
        if download is None:
            standing = Standing(0, entry.model.size, Phase.CONNECTING)
        else:
            standing = download.standing()
        if entry.state is State.DONE:
            standing = Standing(entry.model.size, entry.model.size, Phase.PROVING)
        path = entry.model.target(self._folder)
        return Row(key, entry.model, entry.state, standing, path, entry.error)

    def add(self, model: RemoteModel) -> str:
        """Download it, after those that came before; gives its key."""
        with self._lock:
            key = self._queue.add(model)
        self._advance()
        return key

    def pause(self, key: str) -> None:
        with self._lock:
            download = self._running.get(key) if self._queue.pause(key) else None
        if download is not None:
            download.stop()
        self._advance()

    def resume(self, key: str) -> None:
        """Go on where it stands; also after a failure."""
        with self._lock:
            self._queue.resume(key)
        self._advance()

    def cancel(self, key: str) -> None:
        """Stop it, forget it, and remove what came.  A model that is whole stays."""
        with self._lock:
            entry = self._queue.remove(key)
            download = self._running.get(key)
            resting = self._resting.pop(key, None)
        if entry is None:
            return
        if download is not None:
            download.stop()
        elif entry.state is not State.DONE:
            rest = resting or self._download(entry.model)
            self._spawn(partial(self._discard, rest), "remove a part")
        self._advance()

    def limit(self, *, at_once: int, bytes_per_second: float) -> None:
        """So many together, so fast in all; 0 bytes a second is no limit."""
        self._bucket.limit(bytes_per_second)
        with self._lock:
            self._queue.at_once = at_once
        self._advance()

    def close(self, timeout: float = 2.0) -> None:
        """Stop all; they go on at the next start.  Waits at most `timeout` seconds for each of their threads."""
        with self._lock:
            self._closed = True
            running = list(self._running.values())
            threads = list(self._threads)
        for download in running:
            download.stop()
        for thread in threads:
            thread.join(timeout)

    # --- inside ----------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Start what may run now, write the list down, and tell."""
        with self._lock:
            for entry in () if self._closed else self._queue.starts():
                key = entry.model.key
                download = self._download(entry.model)
                self._running[key] = download
                self._resting.pop(key, None)
                self._spawn(partial(self._run, key, download), f"download {key}")
            if not self._closed:
                _save(self._folder / _NAME, self._queue.entries)
        self._changed()

    def _download(self, model: RemoteModel) -> Download:
        return Download(
            model,
            self._folder,
            self._access,
            bucket=self._bucket,
            patience=self._patience,
            others=lambda: self._rest_of_others(model.key),
        )

    def _rest_of_others(self, key: str) -> int:
        """Bytes that those before it will still take: of two that fit only one by one, the first goes on."""
        before = itertools.takewhile(lambda row: row.key != key, self.rows())
        return sum(
            row.standing.total - row.standing.done for row in before if row.state is State.RUNNING
        )

    def _spawn(self, work: Callable[[], None], name: str) -> None:
        def run() -> None:
            try:
                work()
            finally:
                with self._lock:
                    self._threads.discard(thread)

        thread = threading.Thread(target=run, name=name, daemon=True)
        with self._lock:
            self._threads.add(thread)
        thread.start()

    def _run(self, key: str, download: Download) -> None:
        error: HubError | None = None
        done = False
        try:
            download.run()
            done = True
        except Cut:
            pass
        except HubError as caught:
            error = caught
            _log.warning("A download stopped: %s", caught.problem)
        except Exception as caught:  # noqa: BLE001 - the row must not run for ever; the log has the reason
            _log.exception("A download failed")
            error = _bug(caught)
        self._ended(key, download, error, done=done)

    def _ended(self, key: str, download: Download, error: HubError | None, *, done: bool) -> None:
        with self._lock:
            cancelled = self._queue.leaves(key)
        if cancelled and not done:
            self._discard(download)
        with self._lock:
            self._running.pop(key, None)
            self._queue.ended(key, error, done=done)
            if self._queue.entry(key) is not None:
                self._resting[key] = download
        self._advance()

    def _discard(self, download: Download) -> None:
        try:
            download.discard()
        except HubError as error:
            _log.warning("A part could not be removed: %s", error)


def _save(path: Path, entries: tuple[Entry, ...]) -> None:
    """What is not done."""
    kept = [
        {
            "model": remote.as_dict(entry.model),
            "paused": entry.state in {State.PAUSED, State.FAILED},
        }
        for entry in entries
        if entry.state is not State.DONE
    ]
    try:
        if kept:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Whoever pressed a button waits for this, and gigabytes may be on their way to the same disk.
            privatefile.write(path, json.dumps(kept), flush=False)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        # The list is lost at worst, never what was fetched: the parts and their journals tell.
        _log.warning("The list of downloads was not written: %s", error.strerror)


def _load(path: Path) -> list[tuple[RemoteModel, bool]]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return []
        raw = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    found: list[tuple[RemoteModel, bool]] = []
    for item in raw if isinstance(raw, list) else ():
        try:
            found.append((remote.from_dict(item["model"]), bool(item.get("paused"))))
        except (ValueError, TypeError, KeyError, AttributeError):
            _log.warning("An entry of the list of downloads makes no sense and was left out")
    return found


def _bug(error: Exception) -> HubError:
    return HubError(
        f"The download failed by a fault in Tutti ({type(error).__name__}).",
        "Try again; the log has the details.",
        problem=HubProblem.PROTOCOL,
    )
