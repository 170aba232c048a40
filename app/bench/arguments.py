"""The options of `tutti bench`.  Nothing of the bench is imported here, for every start of the program comes by."""

import argparse
from pathlib import Path

DEFAULT = (
    *("raw:1", "raw:4", "raw:8", "raw:16", "decode:1", "decode:4", "decode:8", "prefix:8:300"),
    *(
        "stall:4:900",
        "pace:4:900",
        "turns:8:3:4",
        "turns:4:8:2",
        "pressure:4:300",
        "fork:600",
        "spill:2000",
    ),
    *(
        "own:32",
        "idle:8:2000",
        "bookkeeping:1000",
        "cancel:4",
        "killed:2",
        "crowd:300:64",
        "edge:2",
        "models:2",
        "download:300",
    ),
    *("mode:single", "mode:static", "mode:continuous"),
)
"""Every row of which there is a target."""

QUICK = (
    *("raw:1", "raw:8", "decode:4", "prefix:8:300", "pressure:4:60", "fork:600", "spill:1000"),
    *("own:32", "cancel:4", "mode:continuous"),
)
"""About three minutes on two cores, peers included."""

CURVE = (1, 2, 4, 8, 16)
"""Numbers of chats in the plot."""

MODES = ("single", "static", "continuous")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add them, with the default rows in the words at the end."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        f"without a name, these rows are measured, in about 40 minutes on two cores, peers included:\n{_lines(DEFAULT)}\n"
        f"with --quick these, in about three minutes:\n{_lines(QUICK)}\n"
        "Figures mean something on a machine that does nothing else. Tutti and its peer run in turn, each time\n"
        "in fresh processes, and get the same requests."
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="what to measure, as in decode:8")
    parser.add_argument("--rows", dest="list", action="store_true", help="list the rows, and end")
    parser.add_argument("--quick", action="store_true", help="a few rows, once")
    parser.add_argument(
        "--mode",
        dest="modes",
        action="append",
        choices=MODES,
        help="the same mixed requests one by one, in fixed batches, or all at once; may be repeated",
    )
    parser.add_argument(
        "--model", metavar="FILE", type=Path, help="a GGUF file (default: the starter model)"
    )
    parser.add_argument(
        "--llama-server", metavar="PATH", type=Path, help="measure this one side by side"
    )
    parser.add_argument(
        "--batched-bench", metavar="PATH", type=Path, help="llama-batched-bench, for the raw rows"
    )
    parser.add_argument(
        "--pairs", metavar="N", type=_count, help="runs of each row (default 3, with --quick 1)"
    )
    parser.add_argument("--threads", metavar="N", type=_count, default=2, help="default 2")
    parser.add_argument(
        "--brief", action="store_true", help="tell only the figures that have a target"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures of every run")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        type=Path,
        help=f"draw speed and latency over {', '.join(map(str, CURVE))} chats (SVG)",
    )


def names(arguments: argparse.Namespace) -> list[str]:
    """The rows that were asked for, each once."""
    wanted = list(arguments.rows)
    wanted += [f"mode:{mode}" for mode in arguments.modes or ()]
    if not wanted and (arguments.quick or not arguments.plot):
        wanted += QUICK if arguments.quick else DEFAULT
    if arguments.plot:
        wanted += [f"decode:{count}" for count in CURVE]
        if arguments.batched_bench:
            wanted += [f"raw:{count}" for count in CURVE]
    return list(dict.fromkeys(wanted))


def _lines(words: tuple[str, ...], width: int = 96) -> str:
    lines = ["  "]
    for word in words:
        if len(lines[-1]) + len(word) > width:
            lines.append("  ")
        lines[-1] += f"{word} "
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 5 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
