"""`tutti bench`: run workloads against Tutti and, side by side, against a peer."""

import argparse
import asyncio
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

from app import paths
from app.bench.report import Figures, figures, medians, table
from app.bench.servers import Load, Server, running
from app.bench.workloads import parse

_DEFAULT = ("decode:1", "decode:4", "decode:8", "prefix:8:300", "pressure:4:60")
_SMALL_POOL = 1024
"""The pool of `pressure`, in which the chats do not all fit."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tutti bench`."""
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help=f"default: {' '.join(_DEFAULT)}"
    )
    parser.add_argument("--model", type=Path, help="GGUF file; default: the starter model")
    parser.add_argument(
        "--llama-server", type=Path, metavar="PATH", help="measure this peer side by side"
    )
    parser.add_argument(
        "--pairs", type=int, default=3, help="runs of each server, in turn (default 3)"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run's figures")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print a table, return the exit code."""
    model = arguments.model or paths.starter_model()
    if model is None:
        return _complain("no model: name one with --model")
    names = arguments.workloads or list(_DEFAULT)
    servers = [Server("tutti")]
    if arguments.llama_server:
        servers.append(Server("llama-server", arguments.llama_server))
    try:
        for name in names:
            parse(name)
        runs = asyncio.run(_measure(names, servers, model, arguments))
    except (ValueError, RuntimeError) as error:
        return _complain(str(error))
    results = {
        name: {server: medians(list_of) for server, list_of in by_server.items()}
        for name, by_server in runs.items()
    }
    sys.stdout.write(table(results) + "\n")
    if arguments.json:
        _save(arguments.json, runs)
    return 0


async def _measure(
    names: list[str], servers: list[Server], model: Path, arguments: argparse.Namespace
) -> dict[str, dict[str, list[Figures]]]:
    runs: dict[str, dict[str, list[Figures]]] = {}
    for name in names:
        by_server = runs.setdefault(name, {server.name: [] for server in servers})
        load = Load(model, threads=arguments.threads)
        if name.startswith("pressure"):
            load = replace(load, pool=_SMALL_POOL)
        for pair in range(arguments.pairs):
            for server in servers:
                sys.stderr.write(
                    f"\r\033[K{name}: {server.name}, run {pair + 1} of {arguments.pairs}"
                )
                async with running(server, load) as client:
                    # A seed of its own for each pair, the same for both servers of it.
                    by_server[server.name].append(
                        figures(await parse(name)(client, 1000 * (pair + 1)))
                    )
    sys.stderr.write("\r\033[K")
    return runs


def _save(path: Path, runs: dict[str, dict[str, list[Figures]]]) -> None:
    plain = {
        name: {server: [asdict(one) for one in list_of] for server, list_of in by_server.items()}
        for name, by_server in runs.items()
    }
    path.write_text(json.dumps(plain, indent=1), encoding="utf-8")


def _complain(text: str) -> int:
    sys.stderr.write(f"tutti bench: {text}\n")
    return 2
