"""Alternatives that begin alike made into one: there are then fewer ways to follow at a time.  Pure."""

from collections.abc import Sequence

from app.grammar.model import Alternative, Rule


def factored(rules: Sequence[Sequence[Alternative]]) -> tuple[Rule, ...]:
    """The same language; rules keep their numbers, and new ones come behind them."""
    made: list[Rule] = [() for _ in rules]
    todo = [(number, list(rule)) for number, rule in enumerate(rules)]
    while todo:
        number, alternatives = todo.pop()
        tails: dict[Alternative, list[Alternative]] = {}
        for row in dict.fromkeys(alternatives):
            tails.setdefault(row[:1], []).append(row)
        rule: list[Alternative] = []
        for rows in tails.values():
            common = _common(rows)
            if len(rows) == 1 or not common:
                rule += rows
                continue
            rest = len(made)
            made.append(())
            todo.append((rest, [row[common:] for row in rows]))
            rule.append((*rows[0][:common], rest))
        made[number] = tuple(rule)
    return tuple(made)


def _common(rows: Sequence[Alternative]) -> int:
    """How many items all of these begin with."""
    shortest = min(map(len, rows))
    first = rows[0]
    return next(
        (at for at in range(shortest) if any(row[at] != first[at] for row in rows)), shortest
    )
