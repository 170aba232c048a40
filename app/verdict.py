"""What the check of a model file found; how it is made is `app.trial`, how it is kept `app.verdicts`."""

from dataclasses import dataclass
from enum import StrEnum


class Finding(StrEnum):
    """How the check of a file ended."""

    SOUND = "sound"
    REFUSED = "refused"
    CRASHED = "crashed"
    SLOW = "slow"
    LARGE = "large"


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one model file.  `what` and `remedy` are for the user, "" of a SOUND file.

    A file that was REFUSED or CRASHED its check is never loaded: the next engine would end as the check did.  One that
    was too SLOW or too LARGE for its limits may be good on a machine that is less busy, so that the user may have it
    loaded all the same; that is remembered as `accepted`.
    """

    finding: Finding
    what: str = ""
    remedy: str = ""
    accepted: bool = False

    @property
    def usable(self) -> bool:
        """Whether the file may be loaded."""
        return self.finding is Finding.SOUND or self.accepted

    @property
    def problem(self) -> str:
        """Why no engine gets the file, in words that go on from "it cannot be loaded: "; "" where one may."""
        if self.usable or self.disputable:
            return ""
        if self.finding is Finding.CRASHED:
            return "opening it crashes the engine"
        return self.what.partition(": ")[2].rstrip(".") or "it did not pass its check"

    @property
    def disputable(self) -> bool:
        """Whether the user may have it loaded all the same."""
        return self.finding in (Finding.SLOW, Finding.LARGE)


SOUND = Verdict(Finding.SOUND)

BEGUN = 0.06
"""How far a check is, of 1, where llama.cpp is there and sees the file for the first time."""
CHECKING = "Checking the file"
"""What is said while a check runs."""
