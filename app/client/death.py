"""How a child process ended, as a fact that can say itself."""

import signal
from dataclasses import dataclass

_HINTS = {
    # Nobody but the app and the system's memory watchdog usually sends it.
    "SIGKILL": "; the system may have run out of memory",
    "SIGILL": "; this llama.cpp was compiled for another processor, and CMAKE_ARGS=-DGGML_NATIVE=OFF compiles one for any",
}


@dataclass(frozen=True, slots=True)
class Death:
    """The end of one child.

    `name` is the process's name.  `exitcode` is the process's, negative for a signal, None where there was no process
    or where it would not end.  `why` says why the app ended it, or why it was not `started`; `last_words` is what
    the child still said.  `asked`: it was told to shut down.
    """

    name: str
    started: bool = True
    exitcode: int | None = None
    why: str = ""
    last_words: str = ""
    asked: bool = False

    @property
    def starved(self) -> bool:
        """Whether it ended as one does that the system ends for want of memory."""
        if self.exitcode is None or self.exitcode >= 0 or self.why or self.asked:
            return False
        return _signal_name(-self.exitcode) == "SIGKILL"

    def __str__(self) -> str:
        words = f"The {self.name.replace('-', ' ')} {self._fate()}."
        if self.last_words and not self.asked:
            words += f" Its last words: {self.last_words.rstrip('.')}."
        return words

    def _fate(self) -> str:
        if self.asked:
            return "was stopped"
        if not self.started:
            return f"could not be started ({self.why})"
        if self.why:
            return f"was ended because it {self.why}"
        if self.exitcode is None:
            return "is gone"
        if self.exitcode < 0:
            return f"stopped unexpectedly ({_signal(-self.exitcode)})"
        return f"stopped unexpectedly (exit code {self.exitcode})"


def _signal(number: int) -> str:
    name = _signal_name(number)
    return f"signal {name}{_HINTS.get(name, '')}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
