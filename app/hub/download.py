"""One model's download: its files in order, each through a part file; in place only when all of them are proven."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from huggingface_hub import hf_hub_url

from app.hub import access as hub_access
from app.hub import disk, part, receipts
from app.hub.access import Access
from app.hub.line import Line, Waits
from app.hub.pace import Speed, seconds_left
from app.hub.part import PartFile
from app.hub.receipts import Receipt
from app.hub.remote import RemoteFile, RemoteModel, repository_folder
from app.hub.standing import Phase, Progress, Standing
from app.hub.transfer import Patience, SharedBucket, Transfer


class Download:
    """`run` on a thread of its own; everything else may be called by any thread."""

    def __init__(
        self,
        model: RemoteModel,
        folder: Path,
        access: Access,
        *,
        bucket: SharedBucket | None = None,
        patience: Patience | None = None,
        others: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`folder` is that of all models; `others` gives the bytes that other downloads will still put there."""
        self._model = model
        self._root = repository_folder(folder, model.repo)
        self._access = hub_access.checked(access)
        self._bucket = bucket or SharedBucket()
        self._patience = patience or Patience()
        self._others = others
        self._clock = clock
        self._stop = threading.Event()
        self._speed = Speed()
        self._lock = threading.Lock()
        self._before = 0
        self._progress = Progress(Phase.CONNECTING, 0, model.size)
        self._line: Line | None = None

    # --- the owner's side ------------------------------------------------------------------------------------

    def stop(self) -> None:
        """End `run` with Cut, within milliseconds but for a connection that is being made."""
        self._stop.set()
        with self._lock:
            line = self._line
        if line is not None:
            line.cut()

    def standing(self) -> Standing:
        """For a person to see; cheap."""
        with self._lock:
            now, total = self._clock(), self._model.size
            progress, speed = self._progress, self._speed.per_second(self._clock())
            done = min(total, self._before + progress.done)
            wait = max(0.0, progress.until - now) if progress.error else 0.0
        left = seconds_left(total - done, speed) if progress.phase is Phase.FETCHING else None
        return Standing(done, total, progress.phase, speed, left, progress.error, wait)

    def begun(self) -> bool:
        """Whether an earlier run left anything, or all of it."""
        self.measure()
        return self.standing().done > 0

    def measure(self) -> None:
        """Let `standing` tell what an earlier run left, by the journals; for one that does not run yet."""
        known = receipts.load(self._root)
        done = sum(
            file.size if self._is_there(file, known) else part.written_bytes(self._target(file), file)
            for file in self._model.files
        )  # fmt: skip
        self._tell(Progress(Phase.CONNECTING, done, self._model.size))

    # --- the worker's side -----------------------------------------------------------------------------------

    def run(self) -> Path:
        """Bring the model; gives the file to load.  Raises HubError, and Cut after `stop`: what came is kept."""
        line = Line(self._access, Waits(read=self._patience.read))
        with self._lock:
            self._line = line
        try:
            known = receipts.load(self._root)
            for file in self._model.files:
                if not self._is_there(file, known):
                    self._fetch(line, file)
                with self._lock:
                    self._before += file.size
                    self._progress = Progress(Phase.PROVING, 0, 0)
            self._publish()
        finally:
            line.close()
        return self._target(self._model.files[0])

    def discard(self) -> None:
        """Remove what was begun; a model that is whole stays.  Only when `run` is over."""
        for file in self._model.files:
            part.remove(self._target(file), file)
        disk.remove_empty(self._target(self._model.files[0]).parent, self._root.parent.parent)

    def _fetch(self, line: Line, file: RemoteFile) -> None:
        # Before anything is made on the disk, so that a refused download leaves nothing behind.
        self._check_room(file, file.size - part.written_bytes(self._target(file), file))
        with PartFile(self._target(file), file) as begun:
            Transfer(
                line,
                self._model.repo,
                hf_hub_url(
                    self._model.repo,
                    file.path,
                    revision=self._model.commit,
                    endpoint=self._access.endpoint,
                ),
                file,
                stop=self._stop,
                tell=self._tell,
                room=lambda missing: self._check_room(file, missing),
                bucket=self._bucket,
                speed=self._speed,
                patience=self._patience,
                clock=self._clock,
            ).run(begun)

    def _tell(self, progress: Progress) -> None:
        with self._lock:
            self._progress = progress

    def _check_room(self, file: RemoteFile, missing: int) -> None:
        later = self._model.files[self._model.files.index(file) + 1 :]
        known = receipts.load(self._root)
        rest = sum(
            other.size - part.written_bytes(self._target(other), other)
            for other in later
            if not self._is_there(other, known)
        )
        disk.check_room(self._root, missing + rest + self._others())

    def _publish(self) -> None:
        """The receipts first: they count only for files of that size and time, so a crash in between is harmless."""
        with receipts.CHANGING:
            self._put_in_place(receipts.load(self._root))

    def _put_in_place(self, known: dict[str, Receipt]) -> None:
        """`known` as of now: other files of the repository may have come since this download began."""
        fresh = [file for file in self._model.files if not self._is_there(file, known)]
        try:
            for file in fresh:
                begun = part.part_path(self._target(file), file)
                known[str(file.local)] = receipts.of_file(begun, file.digest, self._model.commit)
            if fresh:
                receipts.save(self._root, known)
        except OSError as error:
            raise disk.told(error, self._root) from error
        for file in fresh:
            part.publish(self._target(file), file)
        for file in self._model.files:
            part.remove_strays(self._target(file))

    def _is_there(self, file: RemoteFile, known: dict[str, Receipt]) -> bool:
        receipt = known.get(str(file.local))
        return (
            receipt is not None
            and receipt.digest == file.digest
            and receipts.holds(receipt, self._target(file))
        )

    def _target(self, file: RemoteFile) -> Path:
        return self._root / file.local
