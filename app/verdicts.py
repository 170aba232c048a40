"""What was found of model files, in the data folder, so that a file is checked once.

A verdict counts for a file of the same path, size, time of change and fingerprint (of a split model each part's size
and time), and for the llama.cpp that gave it.  Losing the list costs checks, never a model: what cannot be read is as
if it were not there, what cannot be written is left out.
"""

import json
import logging
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from app import llama, modelfile, paths, privatefile
from app.verdict import Finding, Verdict

_log = logging.getLogger(__name__)

_MOST_BYTES = 4_000_000
_MOST_FILES = 1000
_RULES = 1
"""Raised when a check finds more than it did: what was found before counts no more."""


Parts = tuple[tuple[int, int], ...]
"""Size and time of change, in nanoseconds, of each file of a model."""


def verdicts_path() -> Path:
    """The file in the data folder."""
    return paths.data_dir() / "checked.json"


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells whether a file is still the one that was checked; `parts` are sizes and times of change."""

    path: str
    parts: Parts
    fingerprint: str


def identify(path: Path) -> Identity:
    """Reads some megabytes; raises OSError."""
    real = Path(os.path.realpath(path))
    states = [part.stat() for part in modelfile.parts(real) or [real]]
    return Identity(str(real), parts(states), modelfile.fingerprint(real))


def parts(states: Iterable[os.stat_result]) -> Parts:
    """Those of files of which the system says so much."""
    return tuple((state.st_size, state.st_mtime_ns) for state in states)


class Verdicts:
    """The list in `file`; may be used by several threads, and by several processes, of which the last one wins."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    def get(self, identity: Identity) -> Verdict | None:
        """What was found; None where it is not known of just this file."""
        raw = self._load().get(identity.path)
        if not isinstance(raw, dict) or _facts(identity) != {key: raw.get(key) for key in _facts(identity)}:  # fmt: skip
            return None
        return _verdict(raw)

    def problems(self) -> dict[tuple[str, Parts], str]:
        """Why files cannot be loaded that did not pass, by path and parts: to be shown, since what decides is `get`."""
        found = {}
        for path, raw in self._load().items():
            if isinstance(raw, dict) and raw.get("by") == _by():
                verdict = _verdict(raw)
                if verdict is not None and verdict.problem:
                    found[path, _parts(raw.get("parts"))] = verdict.problem
        return found

    def put(self, identity: Identity, verdict: Verdict) -> None:
        """In place of what was known of the file at this path."""
        entry = {
            **_facts(identity),
            "finding": verdict.finding.value,
            "what": verdict.what,
            "remedy": verdict.remedy,
            "accepted": verdict.accepted,
        }
        with self._lock:
            known = self._load()
            known.pop(identity.path, None)
            known[identity.path] = entry  # the latest last
            kept = dict(list(known.items())[-_MOST_FILES:])
            try:
                privatefile.write(self._file, json.dumps(kept, indent=1))
            except (OSError, UnicodeError) as error:
                _log.warning("What was found of a model file was not kept: %s", error)

    def _load(self) -> dict[str, object]:
        try:
            if self._file.stat().st_size > _MOST_BYTES:
                return {}
            raw = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return raw if isinstance(raw, dict) else {}


def _by() -> str:
    """What a verdict holds for."""
    return f"{llama.version()}, {_RULES}"


def _facts(identity: Identity) -> dict[str, object]:
    return {
        "parts": [list(part) for part in identity.parts],
        "fingerprint": identity.fingerprint,
        "by": _by(),
    }


def _parts(raw: object) -> Parts:
    pairs: list[object] = raw if isinstance(raw, list) else []
    whole = (one for one in pairs if isinstance(one, list) and [*map(type, one)] == [int, int])
    return tuple((size, changed) for size, changed in whole)


def _verdict(raw: dict[str, object]) -> Verdict | None:
    finding, what, remedy = raw.get("finding"), raw.get("what"), raw.get("remedy")
    if finding not in set(Finding) or not isinstance(what, str) or not isinstance(remedy, str):
        return None
    return Verdict(Finding(str(finding)), what, remedy, raw.get("accepted") is True)
