"""The values of sampling that a model's file advises (`general.sampling.*` of its metadata).  Pure.

Whoever made the file may have written anything: what cannot be a value is passed over, and said.
"""

import re
from collections.abc import Mapping

from app.sampling import Values, checked

PREFIX = "general.sampling."

_NAMES = {
    "temp": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "xtc_probability": "xtc_probability",
    "xtc_threshold": "xtc_threshold",
    "penalty_last_n": "repeat_last_n",
    "penalty_repeat": "repeat_penalty",
    "mirostat": "mirostat",
    "mirostat_tau": "mirostat_tau",
    "mirostat_eta": "mirostat_eta",
}
_SEQUENCE = "sequence"
_NUMBER = re.compile(r"-?[0-9]{1,50}(\.[0-9]{1,50})?", re.ASCII)


def advised(metadata: Mapping[str, str]) -> tuple[Values, tuple[str, ...]]:
    """The values by our names, and what is to be said; `metadata` are the texts of the keys that begin with `PREFIX`."""
    values: list[tuple[str, float]] = []
    wrong: list[str] = []
    for key, name in _NAMES.items():
        text = metadata.get(PREFIX + key)
        if text is None:
            continue
        value = checked(name, _number(text))
        if isinstance(value, int | float):
            values.append((name, value))
        else:
            wrong.append(key)
    return tuple(values), _notes(wrong, ordered=PREFIX + _SEQUENCE in metadata)


def _number(text: str) -> float | None:
    """llama.cpp gives whole numbers without a point, and the others with one."""
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return int(number) if number.is_integer() else number


def _notes(wrong: list[str], *, ordered: bool) -> tuple[str, ...]:
    notes = []
    if wrong:
        notes.append(
            f"The model's file advises values of sampling that cannot be ({', '.join(wrong)}); they are not used."
        )
    if ordered:
        notes.append("The model's file advises an order of the samplers; Tutti keeps its own.")
    return tuple(notes)
