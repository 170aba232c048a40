"""The ranged reader: brings one file of a hub into its part file and proves it, through cuts, kills and refusals.

    check      what an earlier run wrote is read again; damaged blocks are forgotten
    fetch      the missing ranges, one connection at a time, each block written and noted in the journal
    prove      the digest of the whole; blocks that are not as they were written are fetched again

When the digest is wrong although every block is as it came, wrong bytes came over the network and nothing tells which:
a second copy is read, and the blocks that differ are taken from it.  If that does not help, the file is not kept.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx2

from app.errors import HubError, HubProblem
from app.hub import names
from app.hub.answer import judge
from app.hub.line import Cut, Line
from app.hub.pace import Bucket, Speed
from app.hub.part import PartFile
from app.hub.plan import Block, Overrun, Plan
from app.hub.remote import RemoteFile
from app.hub.retry import Retry, StallWatch
from app.hub.standing import Phase, Progress

_SYNC_EVERY = 64 << 20
_MOST_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Patience:
    """`stall` seconds with hardly a byte are too many; `read` is the line's own wait; `patient` tries for ever."""

    stall: float = 60.0
    read: float = 10.0
    patient: bool = False


class Transfer:
    """Runs on one thread; `stop` and the line are its owner's, who sets the one and cuts the other."""

    def __init__(
        self,
        line: Line,
        repo: str,
        address: str,
        file: RemoteFile,
        *,
        stop: threading.Event,
        tell: Callable[[Progress], None],
        room: Callable[[int], None],
        bucket: "SharedBucket",
        speed: Speed,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._line = line
        self._repo = repo
        self._address = address
        self._file = file
        self._stop = stop
        self._tell = tell
        self._room = room
        self._bucket = bucket
        self._speed = speed
        self._clock = clock
        self._retry = Retry(patient=patience.patient)
        self._watch = StallWatch(patience.stall, most_gap=patience.read + 1.0)
        self._unsynced = 0
        self._asked_anew = False

    def run(self, part: PartFile) -> None:
        """Until the part is proven; raises HubError, or Cut when it was stopped (what has arrived is kept)."""
        self._part = part
        try:
            good = part.check(self._count(Phase.CHECKING))
            plan = Plan(self._file.size, good)
            self._room(plan.missing_bytes)
            self._fill(plan, part.write, Phase.FETCHING)
            self._prove(part, plan)
        finally:
            part.sync()

    # --- proof -----------------------------------------------------------------------------------------------

    def _prove(self, part: PartFile, plan: Plan) -> None:
        compared = False
        for _ in range(_MOST_ROUNDS):
            proof = part.prove(self._count(Phase.PROVING))
            if proof.right:
                return
            if proof.damaged:
                plan.lose(proof.damaged)
                self._fill(plan, part.write, Phase.REPAIRING)
            elif compared or not self._compare(part):
                break
            else:
                compared = True
        part.discard()
        raise HubError(
            f"The checksum of “{names.shown(self._file.path)}” is wrong: the bytes that came are not those that the hub "
            "describes.",
            "The file was not kept. Try again; if it happens again, the file on the hub is damaged.",
            problem=HubProblem.CHECKSUM,
        )

    def _compare(self, part: PartFile) -> bool:
        """Read a second copy and take from it what differs; whether anything did."""
        differing = 0

        def take(block: Block) -> None:
            nonlocal differing
            if not part.holds(block):
                differing += 1
                part.write(block)

        self._fill(Plan(self._file.size), take, Phase.COMPARING)
        return differing > 0

    def _count(self, phase: Phase) -> Callable[[int], None]:
        done = 0

        def tell(count: int) -> None:
            nonlocal done
            if self._stop.is_set():
                raise Cut
            done += count
            self._tell(Progress(phase, done, self._file.size))

        return tell

    # --- the network -----------------------------------------------------------------------------------------

    def _fill(self, plan: Plan, take: Callable[[Block], None], phase: Phase) -> None:
        while (wanted := plan.next_range()) is not None:
            if self._stop.is_set():
                raise Cut
            done = self._file.size - plan.missing_bytes
            if phase is Phase.FETCHING:
                self._tell(Progress(Phase.CONNECTING, done, self._file.size))
            self._watch.skip(self._clock())
            try:
                self._connection(plan, wanted, take, phase)
            except HubError as error:
                self._after_failure(error, self._file.size - plan.missing_bytes)

    def _after_failure(self, error: HubError, done: int) -> None:
        now = self._clock()
        if error.problem is not HubProblem.SILENT:
            self._watch.skip(now)
        elif self._watch.look(now, 0):
            raise self._stalled() from error
        if error.problem is HubProblem.FORBIDDEN and not self._asked_anew:
            # The address that the hub had redirected to may have expired: each request gets a fresh one.
            self._asked_anew = True
            return
        wait = self._retry.wait(error, random.random())
        if wait is None:
            raise error
        self._tell(Progress(Phase.WAITING, done, self._file.size, error, now + wait))
        if self._stop.wait(wait):
            raise Cut

    def _connection(
        self, plan: Plan, wanted: tuple[int, int], take: Callable[[Block], None], phase: Phase
    ) -> None:
        first, last = wanted
        with self._line.ranged(self._address, first, last, self._repo) as response:
            body = judge(
                self._file, first, last, response.status_code, response.headers, _tags(response)
            )
            skip, left = body.skip, last - first + 1
            for chunk in response.iter_raw():
                self._arrived(len(chunk))
                wanted_here = chunk[skip : skip + left]
                skip -= min(skip, len(chunk))
                left -= len(wanted_here)
                self._feed(plan, wanted_here, take)
                self._settle(plan, phase)
                self._tell(Progress(phase, self._file.size - plan.missing_bytes, self._file.size))
                if not left:
                    return
        if left == last - first + 1:
            raise HubError(
                "The server sent nothing.", "Try again later.", problem=HubProblem.PROTOCOL
            )

    def _feed(self, plan: Plan, data: bytes, take: Callable[[Block], None]) -> None:
        try:
            blocks = plan.feed(data)
        except Overrun:
            raise HubError(
                "The server sent more than was asked for.",
                "Try again later.",
                problem=HubProblem.PROTOCOL,
            ) from None
        for block in blocks:
            take(block)
            self._unsynced += len(block.data)

    def _settle(self, plan: Plan, phase: Phase) -> None:
        if self._unsynced < _SYNC_EVERY:
            return
        self._unsynced = 0
        self._part.sync()
        if phase is Phase.FETCHING:
            self._room(plan.missing_bytes)

    def _arrived(self, count: int) -> None:
        if self._stop.is_set():
            raise Cut
        now = self._clock()
        if count:
            self._retry.arrived()
            self._asked_anew = False
            self._speed.add(now, count)
        if self._watch.look(now, count):
            raise self._stalled()
        wait = self._bucket.take(now, count)
        if wait and self._stop.wait(wait):
            raise Cut
        if wait:
            self._watch.skip(self._clock())

    def _stalled(self) -> HubError:
        return HubError(
            "The download stalled: hardly a byte came for a minute.",
            "Try again: it goes on where it stands.",
            problem=HubProblem.STALLED,
        )


class SharedBucket:
    """One limit for all transfers, whatever their threads."""

    def __init__(self, rate: float = 0.0) -> None:
        self._bucket = Bucket(rate)
        self._lock = threading.Lock()

    def take(self, now: float, count: int) -> float:
        with self._lock:
            return self._bucket.take(now, count)

    def limit(self, rate: float) -> None:
        """Bytes a second from now on; 0 for no limit."""
        with self._lock:
            self._bucket = Bucket(rate)


def _tags(response: httpx2.Response) -> list[str]:
    """What the hub itself said of the content: the CDN's own tags mean something else."""
    answers = [*response.history, response]
    linked = [answer.headers.get("x-linked-etag", "") for answer in answers]
    if not response.history:
        linked.append(response.headers.get("etag", ""))
    return linked
