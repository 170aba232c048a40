"""What a model is run with, where tests and other programs may give something else."""

from dataclasses import dataclass, field

from app.client.child import Spawn, engine_child, text_child
from app.client.clock import Clock, LoopClock
from app.client.recovery import DELAYS
from app.client.text_job import Deadline
from app.inuse import Uses


@dataclass(frozen=True, slots=True)
class Means:
    """What a model is run with: the two kinds of child, the clock, the deadline of the text worker, the pauses before a
    dead engine is started again, and where others are told that its file is in use (None: nowhere)."""

    engine: Spawn = engine_child
    text: Spawn = text_child
    clock: Clock = field(default_factory=LoopClock)
    deadline: Deadline = field(default_factory=Deadline)
    delays: tuple[float, ...] = DELAYS
    uses: Uses | None = None


MEANS = Means()
