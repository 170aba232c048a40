"""Figures of a workload, and the table that sets two servers side by side."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from app.bench.workloads import Outcome


@dataclass(frozen=True, slots=True)
class Figures:
    """One run: times in seconds, `cached` and `prompt` in tokens; `late_first` and the gaps while a long prompt
    was read belong to `stall`."""

    whole: int
    failed: int
    wall: float
    tokens_per_second: float
    first_p50: float
    first_p95: float
    gap_p50: float
    gap_p95: float
    gap_max: float
    prompt: int
    cached: int
    late_first: float | None = None
    late_gap_max: float | None = None


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of all lie (nearest rank); 0 when there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def figures(outcome: Outcome) -> Figures:
    """Reduce what the clients saw; only whole answers count."""
    late = outcome.late
    everyone = [*outcome.answers, *([late] if late else [])]
    whole = [answer for answer in everyone if answer.whole]
    gaps = [gap for answer in whole for gap in answer.gaps]
    first = [answer.first for answer in whole]
    return Figures(
        whole=len(whole),
        failed=len(everyone) - len(whole),
        wall=outcome.seconds,
        tokens_per_second=sum(answer.written for answer in whole) / outcome.seconds,
        first_p50=quantile(first, 0.5),
        first_p95=quantile(first, 0.95),
        gap_p50=quantile(gaps, 0.5),
        gap_p95=quantile(gaps, 0.95),
        gap_max=max(gaps, default=0.0),
        prompt=sum(answer.prompt for answer in whole),
        cached=sum(answer.cached for answer in whole),
        late_first=late.first if late else None,
        late_gap_max=_late_gap(outcome) if late else None,
    )


def _late_gap(outcome: Outcome) -> float:
    """The longest gap in the other streams between the long prompt's start and its first token."""
    if outcome.late is None or not outcome.late.times:
        return 0.0
    start, end = outcome.late.began, outcome.late.times[0]
    return max(
        (
            later - earlier
            for answer in outcome.answers
            for earlier, later in zip(answer.times, answer.times[1:], strict=False)
            if later > start and earlier < end
        ),
        default=0.0,
    )


def medians(runs: Sequence[Figures]) -> dict[str, float]:
    """The median of each figure over several runs."""
    rows = [asdict(run) for run in runs]
    names = [name for name, value in rows[0].items() if value is not None]
    return {name: statistics.median(row[name] for row in rows) for name in names}


_COLUMNS = (
    ("tok/s", "tokens_per_second", "{:.1f}"),
    ("wall s", "wall", "{:.1f}"),
    ("TTFT p50", "first_p50", "{:.2f}"),
    ("TTFT p95", "first_p95", "{:.2f}"),
    ("gap p50", "gap_p50", "{:.3f}"),
    ("gap max", "gap_max", "{:.2f}"),
    ("prompt", "prompt", "{:.0f}"),
    ("cached", "cached", "{:.0f}"),
    ("whole", "whole", "{:.0f}"),
    ("failed", "failed", "{:.0f}"),
)


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Markdown rows: workload, server, its medians.  `results[workload][server][figure]`."""
    lines = [
        "| workload | server | " + " | ".join(title for title, _, _ in _COLUMNS) + " |",
        "|" + "---|" * (len(_COLUMNS) + 2),
    ]
    for workload, servers in results.items():
        for server, row in servers.items():
            cells = [pattern.format(row[name]) for _, name, pattern in _COLUMNS]
            lines.append(f"| {workload} | {server} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
