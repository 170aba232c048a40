"""What this app makes of a template and of a vocabulary, in the form in which it is compared."""

import hashlib
from collections.abc import Sequence

from app.errors import TextError
from app.text import formats
from app.text.calls.learning import learn
from app.text.control import ControlTokens
from app.text.prompt import Composer, ToolTemplate
from tests.reference.conversations import Shape

BOS, EOS = "<|endoftext|>", "<|im_end|>"
"""What the tiny model, with which the reference runs, has for them."""

_NO_CONTROL = ControlTokens([])


class Prompts:
    """The prompts of one template, chosen as for a model that brings it."""

    def __init__(self, source: str) -> None:
        self._format = formats.choose({"": source.encode()}, _NO_CONTROL, bos=BOS, eos=EOS)
        template = self._format.template
        learned = learn(template, _NO_CONTROL)
        self.form = learned.calling.form if learned.style is not None else ""
        with_tools = None if learned.style is None else ToolTemplate(template, learned.style)
        self._composer = Composer(template, _NO_CONTROL, with_tools=with_tools)

    def text(self, shape: Shape) -> str | None:
        """The prompt, or None where the template is not used for this conversation."""
        if self._format.name != formats.OWN:
            return None
        try:
            return self._composer.compose(shape.lines, shape.wishes, shape.tools).plain.text
        except TextError:
            return None


def digest(text: str | None) -> str | None:
    """A short hash; None stays None."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()[:12]


def ids_digest(ids: Sequence[int]) -> str:
    """A short hash of token ids."""
    return hashlib.sha256(" ".join(map(str, ids)).encode()).hexdigest()[:12]
