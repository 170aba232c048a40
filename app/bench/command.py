"""`tutti bench`: measure, print a table, write what was asked for.

Ctrl+C and SIGTERM end it with the rows that are complete; no process of it stays behind.

Exit codes: 0 all rows were measured, 1 some could not be, 2 wrong arguments, 130 stopped.
"""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from app import log, paths
from app.bench import arguments as options
from app.bench import record, servers
from app.bench.curve import curve
from app.bench.rows import KINDS, parse
from app.bench.rows.row import Row, Setup
from app.bench.runner import Runner
from app.bench.table import markdown, modes, summary, table

DONE, INCOMPLETE, USAGE, STOPPED = 0, 1, 2, 130

_QUIET = 0.5
"""A load above which figures are not to be trusted."""


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, write; gives the exit code."""
    if arguments.list:
        _say(_rows())
        return DONE
    try:
        setup = _setup(arguments)
        rows = [parse(name) for name in options.names(arguments)]
    except (ValueError, OSError) as error:
        _note(str(error))
        return USAGE
    log.start("bench")
    pairs = arguments.pairs or (1 if arguments.quick else 3)
    about = record.about(setup, pairs)
    _warn_of_load()
    runner = Runner(setup, pairs, _progress)
    stopped = not _ended(runner, rows)
    _report(runner, arguments, about)
    if stopped:
        return STOPPED
    return INCOMPLETE if runner.failures else DONE


def _ended(runner: Runner, rows: list[Row]) -> bool:
    """Measure; False where it was stopped before the end."""
    try:
        asyncio.run(_until_signal(runner, rows))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return False
    finally:
        servers.end_all()
        _progress("")
    return True


async def _until_signal(runner: Runner, rows: list[Row]) -> None:
    """SIGTERM does what Ctrl+C does; that is asked for, too: a shell that starts us behind itself has it ignored."""
    task = asyncio.current_task()
    if sys.platform != "win32" and task is not None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    await runner.measure(rows)


def _setup(arguments: argparse.Namespace) -> Setup:
    """Raises ValueError with what is missing."""
    model = arguments.model or paths.starter_model()
    if model is None:
        raise ValueError("The starter model is not installed. Name a model with --model FILE.")
    for path in (model, arguments.llama_server, arguments.batched_bench):
        if path is not None and not path.is_file():
            raise ValueError(f"There is no file {path}.")
    return Setup(
        model.absolute(),
        arguments.threads,
        llama_server=_absolute(arguments.llama_server),
        batched_bench=_absolute(arguments.batched_bench),
    )


def _absolute(path: Path | None) -> Path | None:
    return path.absolute() if path else None


def _report(runner: Runner, arguments: argparse.Namespace, about: dict[str, object]) -> None:
    found = runner.results
    for part in (table(found, brief=arguments.brief), modes(found), summary(found)):
        if found and part:
            _say(f"{part}\n")
    for name, why in runner.failures.items():
        _note(f"{name} could not be measured: {why}")
    if arguments.json:
        record.write(arguments.json, found, runner.failures, about)
    if arguments.plot:
        arguments.plot.write_text(curve(found), encoding="utf-8")


def _rows() -> str:
    lines = [(kind().name, kind.about, kind.peer_name) for kind in KINDS]
    return markdown(("row", "what", "peer"), lines)


def _warn_of_load() -> None:
    now = record.load()
    if now is not None and now > _QUIET:
        _note(f"this machine is busy (load {now}): the figures will only be signs of life")


def _progress(words: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{words}")
        sys.stderr.flush()
    elif words:
        _note(words)


def _say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def _note(words: str) -> None:
    sys.stderr.write(f"tutti bench: {words}\n")
    sys.stderr.flush()
