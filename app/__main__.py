"""The command line: `tutti` is the window, `tutti COMMAND` does something without one.

Child processes start with this module too: neither Qt nor llama.cpp is imported by what is imported here, and no command
before it is wanted.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from typing import NoReturn

from app import __version__, environment, paths

_MAX_OUTPUT = 2_000_000


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line that says what is wrong, and exit code 2."""
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit code."""
    multiprocessing.freeze_support()
    _give_streams()
    chosen = parser().parse_args(arguments)
    given = environment.taken()
    if chosen.command == "serve":
        from app.cli import serve

        return serve.run(chosen)
    if chosen.command == "doctor":
        from app.cli import doctor

        return doctor.run(as_json=chosen.json)
    if chosen.command == "selftest":
        from app.cli import selftest

        return selftest.run()
    if chosen.command == "models":
        from app.cli import models

        return models.run(chosen, given)
    if chosen.command == "bench":
        from app.bench import command

        return command.run(chosen)
    from app.main import run_window

    return run_window(chosen.window_model, given)


def parser() -> argparse.ArgumentParser:
    from app.bench import arguments as bench_arguments
    from app.cli import models, serve

    whole = _Parser(prog="tutti", description="Chat with local models.", allow_abbrev=False)
    whole.add_argument("--version", action="version", version=f"tutti {__version__}")
    whole.add_argument("--model", dest="window_model", metavar="PATH", help="load this GGUF file")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", title="without a window")
    serve.add_arguments(
        commands.add_parser("serve", help="an OpenAI-compatible server", allow_abbrev=False)
    )
    models.add_arguments(
        commands.add_parser("models", help="find, download and keep models", allow_abbrev=False)
    )
    commands.add_parser("doctor", help="what is here, and what is missing").add_argument(
        "--json", action="store_true", help="for programs"
    )
    commands.add_parser("selftest", help="check that this installation works")
    bench_arguments.add_arguments(
        commands.add_parser("bench", help="measure, also beside a peer", allow_abbrev=False)
    )
    return whole


def _give_streams() -> None:
    """A program started by double click has no stdout and stderr, and libraries write to them all the same."""
    if sys.stdout is not None and sys.stderr is not None:
        return
    path = paths.logs_dir() / "output.log"
    large = path.exists() and path.stat().st_size > _MAX_OUTPUT
    stream = path.open("w" if large else "a", encoding="utf-8", errors="replace", buffering=1)
    sys.stdout = sys.stdout or stream
    sys.stderr = sys.stderr or stream


if __name__ == "__main__":
    sys.exit(main())
