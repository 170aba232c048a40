"""One message of the transcript: its source, and the blocks made from it once it is first in view.

Until then it is only text and an estimated height; text that arrives is kept in a list (`append`) and read when
somebody looks (`flush`), no more at once than what takes a moment: a huge message is read in slices.
"""

from collections.abc import Callable, Sequence
from math import ceil

from app.chat.models import Message, Role, Status
from app.ui import theme
from app.ui.blocks import Block, LeafBlock, RuleBlock, TextBlock
from app.ui.code import CodeBlock
from app.ui.leaves import Code, Leaf, Plain, Row, Rule
from app.ui.markdown import Dialect, Markdown
from app.ui.message_frame import FootBlock, HeadBlock, Verb
from app.ui.offsets import Offsets
from app.ui.table_block import Columns, RowBlock
from app.ui.text_style import Style
from app.ui.thought_block import ThoughtBlock

_FRAME = 90
"""Height of label and actions in the estimate of a message not yet seen, px at the usual scale."""
SLICE = 16_000
"""Characters that are read at once: at the worst Markdown about 50 ms."""


class Entry:
    """A message, from a line in a list to blocks with exact heights.

    `blocks` is empty until `open`; then it is the head, the blocks of the body, and the foot.
    """

    def __init__(self, message: Message, *, first: bool = False) -> None:
        self.message = message
        self._first = first
        self.blocks: list[Block] = []
        self.offsets = Offsets()
        self._pending: list[str] = [message.text] if message.text else []
        self._thought: ThoughtBlock | None = None
        if message.reasoning:
            self._think(message.reasoning)
        self._document = Markdown(
            Dialect.MARKDOWN if message.role is Role.ASSISTANT else Dialect.TYPED
        )
        self._columns: dict[int, Columns] = {}
        self._estimate = 0
        self._cut: str | None = None

    @property
    def text(self) -> str:
        """The source, with what has not been read yet."""
        return self._document.source + "".join(self._pending)

    @property
    def parsed(self) -> int:
        """Characters given to the parser so far."""
        return self._document.parsed

    @property
    def is_open(self) -> bool:
        return bool(self.blocks)

    @property
    def height(self) -> int:
        """Exact as far as the blocks were seen, else estimated."""
        return self.offsets.total if self.blocks else self._estimate

    def estimate(self, width: int, style: Style) -> None:
        """Guess the height from the length of the text."""
        characters = sum(map(len, self._pending))
        lines = sum(part.count("\n") for part in self._pending)
        wrapped = ceil(characters * style.character / max(1, width))
        self._estimate = theme.px(_FRAME) + max(lines, wrapped, 1) * style.pitch

    @property
    def is_behind(self) -> bool:
        """Whether there is text that the blocks do not show yet."""
        return bool(self.blocks and self._pending)

    def append(self, text: str) -> None:
        """More text; nothing is parsed."""
        self._pending.append(text)
        if self._thought is not None:
            self._thought.end()

    def append_thought(self, text: str, width: int, style: Style) -> None:
        """More of what the model thinks; a place for it is made where there is none yet."""
        new = self._thought is None
        thought = self._think(text)
        if self.blocks and new:
            thought.estimate(width, style)
            self.blocks.insert(1, thought)
            self._measure()

    def _think(self, text: str) -> ThoughtBlock:
        if self._thought is None:
            self._thought = ThoughtBlock(self.message)
        self._thought.append(text)
        return self._thought

    def _measure(self) -> None:
        self.offsets.truncate(1)
        for block in self.blocks[1:]:
            self.offsets.append(block.height)

    def fold(self, verb: Verb) -> None:
        """Show or hide what the model thought before it answered, or the summary of what stands above."""
        if verb is Verb.SUMMARY:
            self.head.fold()
        elif self._thought is not None:
            self._thought.toggle()

    @property
    def _lead(self) -> int:
        """How many blocks stand before the body."""
        return 1 if self._thought is None else 2

    @property
    def has_text(self) -> bool:
        return any(part.strip() for part in self._pending) or bool(self._document.source.strip())

    # --- blocks -----------------------------------------------------------------------------------------------

    def open(self, width: int, style: Style) -> None:
        """Make the blocks."""
        self.blocks = [
            HeadBlock(self.message.role, first=self._first),
            *([self._thought] if self._thought is not None else []),
            FootBlock(self.message, self.has_text),
        ]
        self.head.set_cut(self._cut)
        for block in self.blocks:
            block.estimate(width, style)
            self.offsets.append(block.height)
        self.flush(width, style)

    @property
    def head(self) -> HeadBlock:
        head = self.blocks[0]
        if not isinstance(head, HeadBlock):
            raise TypeError("the first block of an open message is its head")
        return head

    def set_cut(self, summary: str | None, width: int, style: Style) -> None:
        """Say above this message that what is above it is not sent any more, and which summary stands for it ("": none);
        None says nothing."""
        self._cut = summary
        if self.blocks:
            self.head.set_cut(summary)
            self.head.estimate(width, style)
            self.offsets.set(0, self.head.height)

    def flush(self, width: int, style: Style) -> Sequence[Block]:
        """Read a slice of the text that has arrived; return the blocks that are no more.

        `is_behind` says whether there is more to read.
        """
        if not self.is_behind:
            return ()
        had_text = bool(self._document.leaves)
        pending = "".join(self._pending)
        self._pending = [pending[SLICE:]] if len(pending) > SLICE else []
        first = self._document.append(pending[:SLICE])
        gone = self._rebuild(first, width, style)
        if not had_text and self._document.leaves:
            self.foot.update(self.message, self.has_text)
        if not self._pending and self.message.status is not Status.STREAMING:
            self._finish()
        return gone

    def _rebuild(self, first: int, width: int, style: Style) -> Sequence[Block]:
        """Make the blocks of the leaves from `first` on anew; an open code block grows instead."""
        leaves, foot = self._document.leaves, self.blocks.pop()
        begin = self._lead + first
        old = self.blocks[begin:]
        del self.blocks[begin:]
        self.offsets.truncate(begin)
        for index in range(first, len(leaves)):
            above = leaves[index - 1] if index else None
            before = old[index - first] if index - first < len(old) else None
            block = self._renew(leaves[index], above, before)
            block.estimate(width, style)
            self.blocks.append(block)
            self.offsets.append(block.height)
        self.blocks.append(foot)
        self.offsets.append(foot.height)
        kept = set(map(id, self.blocks[begin:]))
        return [block for block in old if id(block) not in kept]

    def _renew(self, leaf: Leaf, above: Leaf | None, before: Block | None) -> LeafBlock:
        if isinstance(leaf, Code):
            same = isinstance(before, CodeBlock) and before.leaf.place.start == leaf.place.start
            if isinstance(before, CodeBlock) and same and before.leaf.language == leaf.language:
                before.grow(leaf)
                return before
            return CodeBlock(leaf, above)
        if isinstance(leaf, Row):
            columns = self._columns.setdefault(leaf.table, Columns())
            columns.add(leaf)
            return RowBlock(leaf, above, self._document, columns)
        if isinstance(leaf, Rule):
            return RuleBlock(leaf, above)
        return TextBlock(leaf, above, self._document)

    @property
    def foot(self) -> FootBlock:
        foot = self.blocks[-1]
        if not isinstance(foot, FootBlock):
            raise TypeError("the last block of an open message is its foot")
        return foot

    def update(self, message: Message, width: int, style: Style) -> Sequence[Block]:
        """Take over text, state and figures of this message; return the blocks that are no more."""
        self.message = message
        gone = list(self.flush(width, style))
        if message.reasoning and self._thought is None:
            self.append_thought(message.reasoning, width, style)
        if self._thought is not None:
            self._thought.update(message)
        if message.text != self.text:
            gone += self._start_again(message.text, width, style)
        if self.blocks:
            if not self.is_behind:
                self._finish()
            self.foot.update(message, self.has_text)
        return gone

    def _start_again(self, text: str, width: int, style: Style) -> Sequence[Block]:
        dialect = Dialect.MARKDOWN if self.message.role is Role.ASSISTANT else Dialect.TYPED
        self._document = Markdown(dialect)
        self._columns.clear()
        self._pending = [text] if text else []
        if not self.blocks:
            return ()
        gone = self._rebuild(0, width, style)
        return [*gone, *self.flush(width, style)]

    def _finish(self) -> None:
        """The text is complete: what was laid out before a link was defined is laid out again."""
        for block in self.blocks[self._lead + self._document.finish() : -1]:
            block.release()

    def is_complete(self, index: int) -> bool:
        """Whether the block at this index will not change any more."""
        if index < len(self.blocks) - 2:
            return True
        return self.message.status is not Status.STREAMING and not self.is_behind

    # --- text -------------------------------------------------------------------------------------------------

    def visible(self) -> str:
        """What a reader of this message sees, in order."""
        parts = [block.visible() for block in self.blocks]
        text = parts[0] if parts else ""
        for index, part in enumerate(parts[1:], 1):
            joint = self._joint(index)
            text += (joint if joint is not None else "\n") + part if part or joint else ""
        return text

    def _joint(self, index: int) -> str | None:
        block = self.blocks[index]
        if isinstance(block, TextBlock) and isinstance(block.leaf, Plain):
            return block.leaf.joint
        return None

    def selected(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """The text between two positions (block, offset): source lines for whole blocks, else what is seen."""
        lines = self.text.split("\n")
        pieces: list[str] = []
        reached: int | None = None
        for index in range(start[0], end[0] + 1):
            block = self.blocks[index]
            if not isinstance(block, LeafBlock) or block.place is None:
                continue
            low = start[1] if index == start[0] else 0
            high = min(end[1], block.length) if index == end[0] else block.length
            whole = low == 0 and high == block.length
            joint = self._joint(index)
            if isinstance(block, TextBlock) and isinstance(block.leaf, Plain):
                whole = False
            if whole:
                since = reached if reached is not None else block.place.start
                text = "\n".join(lines[since : block.place.end])
                joint = "\n" if reached is not None else None
                reached = block.place.end
            else:
                text, reached = block.part(low, high), None
            if pieces:
                pieces.append("\n\n" if joint is None else joint)
            pieces.append(text)
        return "".join(pieces)

    def code_of(self, index: int) -> str:
        """The content of the code block at this index, exactly."""
        block = self.blocks[index]
        return block.leaf.text() if isinstance(block, CodeBlock) else ""

    def drop_texts(self, keep: Callable[[Block], bool]) -> None:
        """Forget texts that were made only to be read."""
        for block in self.blocks:
            if not keep(block):
                block.drop()
