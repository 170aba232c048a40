"""What can stop the set-up, in one line for the person who typed the command."""

from pathlib import Path


class SetupError(Exception):
    """The set-up cannot go on; the text says what is wrong and what to do."""


class CommandFailed(Exception):
    """A program ended with another status than 0; `tail` is the end of what it printed."""

    def __init__(self, program: str, status: int, tail: str, log: Path) -> None:
        super().__init__(f"{program} ended with status {status}")
        self.status = status
        self.tail = tail
        self.log = log

    def explained(self, doing: str) -> SetupError:
        """The same failure in words; the log is named, for what is not known here."""
        return SetupError(f"{doing} failed: {_reason(self.tail)} (log: {self.log})")


_REASONS = (
    (("No space left on device", "not enough space on the disk"), "the disk is full"),
    (
        (
            "Temporary failure in name resolution",
            "Failed to establish a new connection",
            "Name or service not known",
            "nodename nor servname provided",
            "getaddrinfo failed",
            "Network is unreachable",
            "ConnectTimeoutError",
            "NewConnectionError",
            "NameResolutionError",
        ),
        "the package index cannot be reached; check the network and try again",
    ),
    (
        ("DO NOT MATCH THE HASHES",),
        "a downloaded file is not the one that the lock names; nothing of it was installed",
    ),
    (
        ("No matching distribution found", "Could not find a version that satisfies"),
        "the package index has no file of a locked package for this system",
    ),
    (
        ("CMAKE_CXX_COMPILER", "CMAKE_C_COMPILER", "No such file or directory: 'c++'"),
        "no working C++ compiler was found",
    ),
    (("Killed signal terminated program", "out of memory"), "the compiler ran out of memory"),
    (("fatal error:", ": error:", "error C"), "the compiler refused the source"),
)


def _reason(tail: str) -> str:
    for marks, reason in _REASONS:
        if any(mark in tail for mark in marks):
            return reason
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"
