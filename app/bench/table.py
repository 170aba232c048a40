"""Results as Markdown."""

import math
from collections.abc import Sequence

from app.bench.figure import Result

_HEADS = ("row", "figure", "Tutti", "spread", "peer", "ratio", "target", "met")


def number(value: float, digits: int) -> str:
    """With thousands separators; what never came is a word."""
    return f"{value:,.{digits}f}" if math.isfinite(value) else "never"


def table(found: Sequence[Result], *, brief: bool = False) -> str:
    """One line for each figure, with `brief` only for those with a target; a row's name stands on its first line.

    Of the modes only what has a target is told: they have a table of their own.
    """
    rows, last = [], ""
    for result in found:
        if result.figure.goal is None and (brief or _is_mode(result)):
            continue
        rows.append(_cells(result, result.row if result.row != last else ""))
        last = result.row
    return markdown(_HEADS, rows) if rows else ""


def modes(found: Sequence[Result]) -> str:
    """One line for each figure, one column for each mode; "" where no mode was measured."""
    lines: dict[str, dict[str, str]] = {}
    names: dict[str, None] = {}
    for result in filter(_is_mode, found):
        figure, name = result.figure, result.row.split(":")[1]
        names[name] = None
        words = f"{figure.words}, {figure.unit}" if figure.unit else figure.words
        lines.setdefault(words, {})[name] = number(result.median, figure.digits)
    rows = [[words, *(cells.get(name, "") for name in names)] for words, cells in lines.items()]
    return markdown(["the same requests", *names], rows) if rows else ""


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns line up in plain text too."""
    widths = [max(len(line[column]) for line in (heads, *rows)) for column in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    ruler = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join([line(heads), ruler, *(line(cells) for cells in rows)])


def summary(found: Sequence[Result]) -> str:
    """How many goals are met, and which are not; "" where there are none."""
    judged = [result for result in found if result.met is not None]
    missed = [f"{result.row} ({result.figure.words})" for result in judged if not result.met]
    open_ = sum(result.figure.goal is not None and result.met is None for result in found)
    if not judged and not open_:
        return ""
    words = f"{len(judged) - len(missed)} of {len(judged)} targets met"
    if missed:
        words += "; missed: " + ", ".join(missed)
    if open_:
        words += f"; {open_} need a peer that was not named"
    return words + "."


def _cells(result: Result, name: str) -> tuple[str, ...]:
    figure = result.figure
    unit = f" {figure.unit}" if figure.unit else ""
    theirs = result.peer_median
    return (
        name,
        figure.words,
        number(result.median, figure.digits) + unit,
        _spread(result),
        "" if theirs is None else f"{number(theirs, figure.digits)}{unit} ({result.peer})",
        _ratio(result.ratio),
        figure.goal.words(figure.unit) if figure.goal else "",
        {None: "", True: "yes", False: "**no**"}[result.met],
    )


def _is_mode(result: Result) -> bool:
    return result.row.startswith("mode:")


def _ratio(ratio: float | None) -> str:
    """Where only one of the two came, there is none to tell."""
    return f"{ratio:.2f}" if ratio is not None and math.isfinite(ratio) else ""


def _spread(result: Result) -> str:
    digits = result.figure.digits
    low, high = number(min(result.ours), digits), number(max(result.ours), digits)
    return "" if low == high else f"{low} to {high}"
