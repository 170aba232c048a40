"""A download on the terminal: one line that is drawn over and over, or, where that is no terminal, a line now and then."""

import shutil
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from app.hub.standing import Standing

_WIDTH = 24
_STEP = 10


class Bar:
    """Shows the standing of one download on `stream`."""

    def __init__(self, stream: TextIO, title: str) -> None:
        self._stream = stream
        self._title = title
        self._drawn = 0
        self._said = ""

    def show(self, standing: "Standing") -> None:
        """As it is now."""
        if self._stream.isatty():
            self._draw(line(self._title, standing, shutil.get_terminal_size().columns))
        else:
            self._say(standing)

    def end(self) -> None:
        """Leave the line as it is."""
        if self._drawn:
            self._write("\n")
            self._drawn = 0

    def _draw(self, text: str) -> None:
        self._write(f"\r{text.ljust(self._drawn)}")
        self._drawn = len(text)

    def _say(self, standing: "Standing") -> None:
        """Each new phase, and each tenth."""
        whole = percent(standing) // _STEP * _STEP
        said = str(standing.error.what) if standing.error else f"{standing.phase}, {whole} %"
        if said != self._said:
            self._said = said
            self._write(f"{line(self._title, standing, 400)}\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            # That nobody looks is no reason to stop.
            return


def percent(standing: "Standing") -> int:
    """Never 100 before the end."""
    return standing.done * 100 // standing.total if standing.total else 100


def line(title: str, standing: "Standing", columns: int) -> str:
    """The whole line, cut to the width of the terminal."""
    from app.hub import words
    from app.hub.standing import Phase

    if standing.error is not None:
        text = f"{standing.error.what} Trying again in {words.duration(standing.wait)}."
        return _cut(f"{percent(standing):3d} %  {text}", columns)
    full = _WIDTH * standing.done // standing.total if standing.total else _WIDTH
    bar = "█" * full + "░" * (_WIDTH - full)
    amount = f"{words.size(standing.done)} of {words.size(standing.total)}"
    cells = [f"{percent(standing):3d} %", bar, amount]
    if standing.phase is Phase.FETCHING:
        cells.append(f"{words.size(standing.speed)}/s")
        if standing.seconds_left is not None:
            cells.append(f"{words.duration(standing.seconds_left)} left")
    else:
        cells.append(str(standing.phase))
    return _cut("  ".join([*cells, title]), columns)


def _cut(text: str, columns: int) -> str:
    return text if len(text) < columns else text[: max(0, columns - 2)] + "…"
