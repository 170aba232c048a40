"""States of chats outside the pool: a radix tree over token ids whose nodes hold saved KV ranges; pure.

A node stands for the tokens [start, end) of every prompt that begins with the path to it.  Its `Blob` was saved
from a range that covers the node's own; splitting a node splits the index, not the bytes, so that two chats
that share a beginning share its bytes too.

Where a memory can only be restored at its tip (recurrent, hybrid, sliding window) the tree is `exact`: a blob
then holds everything from 0 to the end of its sequence, and a match is only good at the end of a node: at the
sequence's own, or where a tip was kept.

The bytes in memory are bounded by a budget.  What is worth least goes first, to its file where it has one, otherwise
for good.  The worth of a state is what it costs to read its tokens again, for each byte, when it was used last; what
the others are worth rises above it with everything that goes (GreedyDual), so that what is never used goes at last.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from app.engine.backend import TokenArray
from app.engine.blob import Blob, Segment, Tip
from app.engine.prefix import common_prefix


@dataclass(eq=False, slots=True)
class _Node:
    tokens: TokenArray
    start: int
    parent: "_Node | None"
    blob: Blob | None = None
    tip: bytes | None = None
    children: dict[int, "_Node"] = field(default_factory=dict)
    last_used: int = 0
    worth: float = 0.0

    @property
    def end(self) -> int:
        return self.start + len(self.tokens)


def count_tokens(start: int, end: int) -> float:
    """What it costs to read these positions, where every token costs the same."""
    return end - start


class StateTree:
    """Saved states, at most `budget` bytes of them; `effort(start, end)` says what it costs to read these positions."""

    def __init__(
        self, budget: int, *, exact: bool, effort: Callable[[int, int], float] = count_tokens
    ) -> None:
        self.budget = budget
        self.exact = exact
        self._effort = effort
        self._inflation = 0.0
        self.bytes = 0
        self.dropped: list[Path] = []
        """Files of blobs that are in the tree no more; to be deleted by whoever keeps the files."""
        self._root = _Node(np.empty(0, np.int32), 0, None)
        self._clock = 0

    def match(self, wanted: TokenArray, most: int) -> list[Segment]:
        """The segments that give the longest prefix of `wanted`, at most `most` tokens, in order."""
        path = list(self._walk(wanted))
        if self.exact:
            whole = [
                node
                for node, common in path
                if node.blob and common == len(node.tokens) and node.end <= most
            ]
            self._touch(whole[-1:])
            return [Segment(node.blob, 0, node.end, node.tip) for node in whole[-1:] if node.blob]
        segments = []
        for node, common in path:
            end = min(node.start + common, most)
            if node.blob is None or end <= node.start:
                break
            segments.append(Segment(node.blob, node.start, end))
        self._touch([node for node, _ in path])
        return segments

    def holds(self, tokens: TokenArray) -> bool:
        """Whether the state of exactly `tokens` is kept."""
        path = list(self._walk(tokens))
        if not path:
            return False
        node, common = path[-1]
        whole = node.start + common == len(tokens)
        return whole and node.blob is not None and (not self.exact or common == len(node.tokens))

    def put(
        self,
        tokens: TokenArray,
        save: Callable[[int, int], bytes | None],
        tips: Sequence[Tip] = (),
        owner: int = 0,
    ) -> None:
        """Keep the state of `tokens`; `save(start, end)` gives the bytes of what is not there yet.

        `save` may say None (the state cannot be had): then nothing is kept.  In an exact tree `tips` are kept
        with it.
        """
        node = self._node_at(tokens)
        if node.end == len(tokens) and (node.blob is not None or not len(tokens)):
            self._touch([node])
            return
        start = 0 if self.exact else node.end
        data = save(start, len(tokens))
        size = len(data or b"") + sum(len(tip.data) for tip in tips)
        if data is not None and self._make_room(size, keep=node):
            blob = Blob(start, len(tokens), data, tokens.copy(), owner, tips=tuple(tips))
            self._add(node, blob)

    def adopt(self, blob: Blob) -> bool:
        """Take in a blob that lies in a file; False when what comes before it is missing."""
        node = self._node_at(blob.tokens)
        if node.blob is not None and node.end == blob.end:
            return False
        if not self.exact and (node.end != blob.start or (node.parent and node.blob is None)):
            return False
        if not self._make_room(blob.size, keep=node):
            return False
        self._add(node, blob)
        return True

    def data_of(self, blob: Blob, load: Callable[[Path], bytes | None]) -> bytes | None:
        """The blob's bytes, read from its file by `load` where they are not in memory; None when that fails."""
        if blob.data is None and blob.file is not None:
            data = load(blob.file)
            if data is None:
                return None
            # Making room may drop this very state: then the bytes are its caller's alone.
            if self._make_room(len(data), keep=self._root) and blob.users:
                blob.data = data
                self.bytes += len(data)
            return data
        return blob.data

    def blobs(self) -> list[Blob]:
        """Every blob once, the least recently used first."""
        found: dict[int, Blob] = {}
        for node in sorted(self._nodes(), key=lambda one: one.last_used):
            if node.blob is not None:
                found[id(node.blob)] = node.blob
        return list(found.values())

    def unwritten(self) -> list[Blob]:
        """Blobs that belong on disk and are not there: those of chats, and what those continue.

        What was nobody's becomes the chat's that goes on from it, so that its file goes with that chat.
        """
        found: dict[int, Blob] = {}
        for node in self._nodes():
            owner = node.blob.owner if node.blob is not None else 0
            for one in (node,) if self.exact else _path(node):
                if owner > 0 and one.blob and one.blob.owner >= 0 and one.blob.unwritten:
                    one.blob.owner = one.blob.owner or owner
                    found[id(one.blob)] = one.blob
        return list(found.values())

    def forget_owner(self, owner: int, cut: Callable[[Blob, int], bytes | None]) -> None:
        """Drop all that was kept for a chat.

        What the states of other chats go on from becomes theirs: `cut(blob, end)` gives the bytes of the blob's
        positions before `end` alone, or None where they cannot be had; then those states go too.
        """
        for blob in [blob for blob in self.blobs() if blob.owner == owner]:
            if self.exact:
                self.forget(blob)
            else:
                self._give_to_others(blob, cut)

    def _shared(self, blob: Blob) -> list[_Node]:
        """The blob's nodes that states of other chats go on from, the outermost last."""
        shared = [node for node in self._nodes() if node.blob is blob and _others(node, blob.owner)]
        return sorted(shared, key=lambda node: node.start)

    def _give_to_others(self, blob: Blob, cut: Callable[[Blob, int], bytes | None]) -> None:
        data, end = None, -1
        while (shared := self._shared(blob)) and shared[-1].end != end:
            # To cut one may need room in the pool: another chat is spilled, and states are dropped for its own.
            end = shared[-1].end
            data = cut(blob, end)
        for node in shared:
            node.blob = None
            self._drop_user(blob)
        self.forget(blob)
        if not shared:
            return
        last = shared[-1]
        has_room = data is not None and self._make_room(len(data), keep=last)
        heirs = _others(last, blob.owner)
        if data is None or not has_room or not heirs:
            self._prune(shared[0], set())
            return
        given = Blob(blob.start, end, data, blob.tokens[:end].copy(), max(heirs), users=len(shared))
        self.bytes += given.size
        for node in shared:
            node.blob = given

    def _add(self, node: _Node, blob: Blob) -> None:
        self.bytes += blob.size
        self._attach(node, blob.tokens, blob)
        for tip in blob.tips:
            self._attach_tip(tip, blob)

    def _attach(self, node: _Node, tokens: TokenArray, blob: Blob) -> _Node:
        """Let the node of all `tokens`, at or below `node`, use this blob."""
        if node.end < len(tokens):
            child = _Node(tokens[node.end :].copy(), node.end, node)
            node.children[int(tokens[node.end])] = child
            node = child
        node.blob = blob
        self._touch([node])
        return node

    def _attach_tip(self, tip: Tip, blob: Blob) -> None:
        upto = blob.tokens[: tip.at]
        node = self._node_at(upto)
        if node.end == tip.at and node.blob is not None:
            return
        blob.users += 1
        self._attach(node, upto, blob).tip = tip.data

    def _node_at(self, tokens: TokenArray) -> _Node:
        """The node at which the common path with `tokens` ends, split out where it ends inside one."""
        node, common = self._root, 0
        for node, common in self._walk(tokens):  # noqa: B007
            pass
        return self._split(node, common) if common < len(node.tokens) else node

    def forget(self, blob: Blob) -> None:
        """Drop every node that uses this blob, and what cannot be restored without it.

        That is what hangs below.  In an exact tree every state is whole by itself: only the nodes are in common.
        """
        for node in [node for node in self._nodes() if node.blob is blob]:
            if node.parent is None:
                continue  # it went with another
            if self.exact and node.children:
                node.blob = node.tip = None
                self._drop_user(blob)
            else:
                self._prune(node, set())

    def check(self) -> None:
        """Raises RuntimeError when the bytes or the tree's order are wrong."""
        users: dict[int, int] = {}
        for node in self._nodes():
            if node.parent is None or node.start != node.parent.end or not len(node.tokens):
                raise RuntimeError("a node does not follow its parent")
            if node.blob:
                users[id(node.blob)] = users.get(id(node.blob), 0) + 1
        blobs = self.blobs()
        if self.bytes != sum(blob.size for blob in blobs) or self.bytes > self.budget:
            raise RuntimeError("the bytes of the saved states are miscounted")
        if any(blob.users != users[id(blob)] for blob in blobs):
            raise RuntimeError("the users of a saved state are miscounted")

    def _walk(self, wanted: TokenArray) -> Iterator[tuple[_Node, int]]:
        """The nodes along `wanted`, each with how many of its tokens agree; all but the last agree wholly."""
        node, at = self._root, 0
        while at < len(wanted):
            child = node.children.get(int(wanted[at]))
            if child is None:
                return
            common = common_prefix(child.tokens, wanted[at:])
            yield child, common
            if common < len(child.tokens):
                return
            node, at = child, child.end

    def _split(self, node: _Node, at: int) -> _Node:
        """Cut a node in two after `at` tokens; the upper half is returned."""
        parent = node.parent or self._root
        upper = _Node(
            node.tokens[:at].copy(),
            node.start,
            parent,
            last_used=node.last_used,
            worth=node.worth,
        )
        if node.blob and not self.exact:
            upper.blob = node.blob
            node.blob.users += 1
        parent.children[int(upper.tokens[0])] = upper
        node.tokens, node.start, node.parent = node.tokens[at:].copy(), node.start + at, upper
        upper.children[int(node.tokens[0])] = node
        return upper

    def _make_room(self, wanted: int, keep: _Node) -> bool:
        """Free memory, least recently used first, until `wanted` bytes fit; never the path to `keep`."""
        if wanted > self.budget:
            return False
        kept = {id(node) for node in _path(keep)}
        while self.bytes + wanted > self.budget:
            loose = [node for node in self._nodes() if id(node) not in kept]
            if not loose:
                return False
            self._free_one(loose, kept)
        return True

    def _free_one(self, loose: list[_Node], kept: set[int]) -> None:
        """Leave to its file, or drop, the least recently used of what can go alone; else a whole branch."""
        alone = [
            node
            for node in loose
            if not node.children or (node.blob and node.blob.file and node.blob.data)
        ]
        victim = min(alone or loose, key=lambda node: (node.worth, node.last_used))
        self._inflation = max(self._inflation, victim.worth)
        blob = victim.blob
        if blob is not None and blob.file is not None and blob.data is not None:
            self.bytes -= len(blob.data)
            blob.data = None
        else:
            self._prune(victim, kept)

    def _prune(self, node: _Node, kept: set[int]) -> None:
        """Drop a node and what hangs below, and then every ancestor that stands for nothing any more."""
        parent = node.parent
        for child in list(node.children.values()):
            self._prune(child, {*kept, id(node)})
        if node.blob:
            self._drop_user(node.blob)
            node.blob = node.tip = None
        if parent is None:
            return
        del parent.children[int(node.tokens[0])]
        node.parent = None
        if parent.parent and not parent.children and parent.blob is None and id(parent) not in kept:
            self._prune(parent, kept)

    def _drop_user(self, blob: Blob) -> None:
        blob.users -= 1
        if blob.users == 0:
            self.bytes -= blob.size
            self.dropped += [blob.file] if blob.file else []

    def _touch(self, nodes: list[_Node]) -> None:
        self._clock += 1
        for node in nodes:
            node.last_used = self._clock
            node.worth = self._inflation + self._density(node)

    def _density(self, node: _Node) -> float:
        """What it costs to read the node's tokens again, for each byte that it keeps."""
        blob = node.blob
        if blob is None or not blob.size:
            return 0.0
        start = 0 if self.exact else node.start
        share = 1.0 if self.exact else len(node.tokens) / (blob.end - blob.start)
        return self._effort(start, node.end) / (blob.size * share)

    def _nodes(self) -> Iterator[_Node]:
        stack = list(self._root.children.values())
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children.values())


def _others(node: _Node, owner: int) -> set[int]:
    """The chats other than this one that keep a state below the node."""
    found: set[int] = set()
    stack = list(node.children.values())
    while stack:
        below = stack.pop()
        stack.extend(below.children.values())
        if below.blob is not None and below.blob.owner != owner:
            found.add(below.blob.owner)
    return found


def _path(node: _Node | None) -> Iterator[_Node]:
    while node is not None:
        yield node
        node = node.parent
