"""llama-batched-bench, the limit that a scheduler can reach: no sampling, no text, all sequences of one length."""

import asyncio
import contextlib
from pathlib import Path

from app.errors import AppError


class BatchedBenchFailed(AppError):
    """It did not run, or said something else than a table."""


def command(
    binary: Path, model: Path, *, threads: int, prompt: int, written: int, sequences: int
) -> list[str]:
    """The same pool, batch and threads as ours."""
    numbers = {"-c": 8192, "-b": 512, "-ub": 512, "-t": threads}
    numbers |= {"-npp": prompt, "-ntg": written, "-npl": sequences}
    words = [word for flag, number in numbers.items() for word in (flag, str(number))]
    return [str(binary), "-m", str(model), *words, "-fa", "on", "-kvu"]


def parse(output: str) -> dict[int, float]:
    """Tokens a second while writing, for each number of sequences; raises BatchedBenchFailed without a table."""
    found: dict[int, float] = {}
    heads: list[str] = []
    for line in output.splitlines():
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "S_TG t/s" in cells:
            heads = cells
        elif heads and len(cells) == len(heads) and cells[0].isdigit():
            row = dict(zip(heads, cells, strict=True))
            found[int(row["B"])] = float(row["S_TG t/s"])
    if not found:
        last = output.strip().splitlines()[-1:] or ["it said nothing"]
        raise BatchedBenchFailed(f"llama-batched-bench gave no table: {last[0]}")
    return found


async def run(words: list[str]) -> dict[int, float]:
    """Run it to its end; it is ended where this is cancelled."""
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
    except OSError as error:
        raise BatchedBenchFailed(f"{words[0]} cannot be run: {error.strerror}.") from error
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return parse(output.decode("utf-8", "replace"))
