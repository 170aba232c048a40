"""What is looked at in a grammar before anything follows it.  Nothing here is recursive: rules may be thousands deep."""

from collections.abc import Sequence

from app.errors import FormError
from app.grammar.model import Alternative

Rules = Sequence[Sequence[Alternative]]


def check(rules: Rules, names: Sequence[str]) -> list[list[Alternative]]:
    """The rules that the first one needs, with new numbers.

    Raises FormError where one of them can never end, or begins with itself.
    """
    used = _used(rules)
    endless = _endless(rules, used)
    if endless is not None:
        raise FormError(f"Rule '{names[endless]}' can never come to an end.")
    circle = _circle(rules, used)
    if circle is not None:
        raise FormError(
            f"Rule '{names[circle]}' begins with itself (left recursion); let it begin with something else, and "
            "repeat with * instead."
        )
    numbers = {rule: number for number, rule in enumerate(used)}
    return [
        [tuple(item if item < 0 else numbers[item] for item in row) for row in rules[rule]]
        for rule in used
    ]


def _used(rules: Rules) -> list[int]:
    """The rules that can be reached from the first, the first one first."""
    found: dict[int, None] = {0: None}
    todo = [0]
    while todo:
        for row in rules[todo.pop()]:
            for item in row:
                if item >= 0 and item not in found:
                    found[item] = None
                    todo.append(item)
    return list(found)


def _settled(rules: Rules, used: Sequence[int], *, classes: bool) -> set[int]:
    """The rules of which some alternative holds settled rules only, and classes only where `classes` says so."""
    users: dict[int, list[tuple[int, int]]] = {}
    open_items: dict[tuple[int, int], int] = {}
    settled: set[int] = set()
    todo: list[int] = []
    for rule in used:
        for index, row in enumerate(rules[rule]):
            if not classes and any(item < 0 for item in row):
                continue
            needed = {item for item in row if item >= 0}
            open_items[rule, index] = len(needed)
            for item in needed:
                users.setdefault(item, []).append((rule, index))
            if not needed:
                todo.append(rule)
    while todo:
        rule = todo.pop()
        if rule in settled:
            continue
        settled.add(rule)
        for user in users.get(rule, ()):
            open_items[user] -= 1
            if not open_items[user]:
                todo.append(user[0])
    return settled


def _endless(rules: Rules, used: Sequence[int]) -> int | None:
    """A rule that no text ends: the last one, for those before it may only lead to it."""
    good = _settled(rules, used, classes=True)
    return next((rule for rule in reversed(used) if rule not in good), None)


def _circle(rules: Rules, used: Sequence[int]) -> int | None:
    """A rule that comes back to itself before any symbol, with more to follow.

    Coming back with nothing to follow changes nothing, so it does no harm: `(a*)*`.
    """
    empty = _settled(rules, used, classes=False)
    edges: dict[int, list[tuple[int, bool]]] = {rule: [] for rule in used}
    for rule in used:
        for row in rules[rule]:
            for at, item in enumerate(row):
                if item < 0:
                    break
                edges[rule].append((item, at + 1 < len(row)))
                if item not in empty:
                    break
    group = _groups(edges)
    return next(
        (
            rule
            for rule in used
            for item, more in edges[rule]
            if more and group[item] == group[rule]
        ),
        None,
    )


def _groups(edges: dict[int, list[tuple[int, bool]]]) -> dict[int, int]:
    """For each rule the number of its strongly connected component (Tarjan, with a stack of its own)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    group: dict[int, int] = {}
    path: list[int] = []
    for begin in edges:
        if begin in order:
            continue
        todo = [(begin, 0)]
        while todo:
            rule, at = todo.pop()
            if at == 0:
                order[rule] = low[rule] = len(order)
                path.append(rule)
            else:
                low[rule] = min(low[rule], low[edges[rule][at - 1][0]])
            following = _next_new(rule, at, edges, order, low, group)
            if following < len(edges[rule]):
                todo += [(rule, following + 1), (edges[rule][following][0], 0)]
            elif low[rule] == order[rule]:
                while True:
                    member = path.pop()
                    group[member] = rule
                    if member == rule:
                        break
    return group


def _next_new(
    rule: int,
    at: int,
    edges: dict[int, list[tuple[int, bool]]],
    order: dict[int, int],
    low: dict[int, int],
    group: dict[int, int],
) -> int:
    """The number of the first edge from `at` on that leads to a rule not seen yet; lowers `low` by the others."""
    for index in range(at, len(edges[rule])):
        item = edges[rule][index][0]
        if item not in order:
            return index
        if item not in group:
            low[rule] = min(low[rule], order[item])
    return len(edges[rule])
