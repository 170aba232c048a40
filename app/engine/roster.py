"""The requests of one engine that have not ended, by their ids: who waits, who is at work, who was passed over."""

from app.engine.scheduler import Plan
from app.engine.sequence import PROMPT_STEP, Sequence


class Roster(dict[int, Sequence]):
    """In the order in which they came."""

    @property
    def active(self) -> list[Sequence]:
        """Those that have a slot."""
        return [sequence for sequence in self.values() if sequence.slot is not None]

    @property
    def waiting(self) -> list[Sequence]:
        """Those that have none, the most urgent first."""
        waiting = (sequence for sequence in self.values() if sequence.slot is None)
        return sorted(waiting, key=lambda sequence: sequence.urgency)

    @property
    def level(self) -> int | None:
        """The class of the most urgent one; None where there is none."""
        return min((sequence.level for sequence in self.values()), default=None)

    def disown(self, owner: int) -> None:
        """This chat is deleted: what it still asks for goes on, and what is kept of that goes with its end."""
        for sequence in self.values():
            if sequence.owner == owner:
                sequence.owner = -owner
                if sequence.slot is not None:
                    sequence.slot.owner = -owner

    def age(self, done: Plan) -> None:
        """Count how long reading has taken, and who was passed over by this step."""
        total = done.chunk_tokens
        writing = {sequence.id for sequence in done.rows}
        reading = {sequence.id for sequence, _ in done.chunks}
        for sequence in self.values():
            if sequence.id in writing:
                continue
            if sequence.running:
                # Who writes has its turns; background work only what the others leave.
                sequence.passed += int(sequence.background)
                continue
            sequence.elapsed += total
            if sequence.id not in reading:
                # While others only write, what reads goes on beside them: but for background work.
                sequence.passed += PROMPT_STEP if total else int(sequence.background)
