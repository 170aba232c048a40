"""Heights of a long column, so that neither a sum nor a search walks through all of them (a Fenwick tree)."""


class Offsets:
    """A list of heights with prefix sums: every operation takes a number of steps that grows as the logarithm."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]
        self.total = 0

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """Add a height at the end."""
        index = len(self._tree)
        self._heights.append(height)
        self.total += height
        below = self.before(index - 1) - self.before(index - (index & -index))
        self._tree.append(below + height)

    def pop(self) -> None:
        """Take the last height away."""
        self.total -= self._heights.pop()
        self._tree.pop()

    def truncate(self, length: int) -> None:
        """Keep the first `length` heights."""
        while len(self._heights) > length:
            self.pop()

    def set(self, index: int, height: int) -> None:
        """Change one height."""
        change = height - self._heights[index]
        if not change:
            return
        self._heights[index] = height
        self.total += change
        at = index + 1
        while at < len(self._tree):
            self._tree[at] += change
            at += at & -at

    def before(self, index: int) -> int:
        """The sum of the heights before `index`."""
        total = 0
        while index > 0:
            total += self._tree[index]
            index -= index & -index
        return total

    def find(self, offset: int) -> tuple[int, int]:
        """The index at this offset, and how far into its height that is; the last one's end for what lies beyond."""
        at, rest = 0, max(0, offset)
        step = 1 << max(0, len(self._heights).bit_length() - 1)
        while step:
            beyond = at + step
            if beyond < len(self._tree) and self._tree[beyond] <= rest:
                at, rest = beyond, rest - self._tree[beyond]
            step >>= 1
        if at >= len(self._heights) and self._heights:
            return len(self._heights) - 1, self._heights[-1]
        return at, rest
