"""The prompt format of the local model, for people: to see its templates, to try and use others, to read prompts."""

import asyncio
from collections.abc import Callable, Sequence

from app.chat.ports import Request
from app.client.pair import Pair
from app.dialogue import ChatLine
from app.errors import ModelError
from app.overrides import Overrides
from app.prompting import (
    FedPrompt,
    ListTemplates,
    NameTokens,
    PromptText,
    Rehearsal,
    TemplateSet,
    TokenNames,
    Trial,
    TryTemplate,
)
from app.text.spelling import nameless, spell


class LocalPromptFormat:
    """`chat.prompt_port.PromptFormat` over whatever pair there is; `changed` is called when another template is in use."""

    def __init__(
        self,
        pair: Callable[[], Pair | None],
        overrides: Overrides | None,
        changed: Callable[[Pair], None],
    ) -> None:
        self._present = pair
        self._overrides = overrides
        self._changed = changed
        self._lock = asyncio.Lock()

    async def templates(self) -> TemplateSet:
        """All that the model has; raises AppError."""
        return await self._pair().text.inspect(ListTemplates(), TemplateSet)

    async def try_template(self, text: str, lines: Sequence[ChatLine]) -> Rehearsal:
        """Check it, and show what it makes of these lines; raises AppError where it takes too long to tell."""
        pair = self._pair()
        found = await pair.text.inspect(TryTemplate(text, tuple(lines)), Trial)
        prompt = await self._spell(pair, found.tokens)
        return Rehearsal(prompt, found.problem, found.line)

    async def use_template(self, text: str) -> None:
        """Use it from now on, and keep it; "" gives the model's own back.  Raises AppError, and then nothing has
        changed."""
        pair = self._pair()
        async with self._lock:
            before = pair.template
            await pair.use_template(text)
            if self._overrides is not None:
                try:
                    await asyncio.to_thread(self._overrides.save, pair.loaded.fingerprint, text)
                except Exception:  # whatever it was: what is not kept is not used either
                    await pair.use_template(before)
                    raise
        self._changed(pair)

    async def render(self, request: Request) -> FedPrompt:
        """The prompt that this request would have now; raises AppError."""
        pair = self._pair()
        return FedPrompt(pair.loaded.fingerprint, await pair.prompt(request))

    async def spell(self, prompt: FedPrompt) -> PromptText:
        """The prompt in words; raises ModelError where it is another model's, and AppError."""
        pair = self._pair()
        if pair.loaded.fingerprint != prompt.model:
            raise ModelError("These are the tokens of another model than the one that is loaded.")
        return await self._spell(pair, prompt.tokens)

    async def _spell(self, pair: Pair, tokens: tuple[int, ...]) -> PromptText:
        names = await self._names(pair, nameless(tokens, pair.vocabulary))
        return await asyncio.to_thread(spell, tokens, pair.vocabulary, names)

    async def _names(self, pair: Pair, tokens: tuple[int, ...]) -> dict[int, str]:
        if not tokens:
            return {}
        found = await pair.text.inspect(NameTokens(tokens), TokenNames)
        return dict(zip(tokens, found.texts, strict=True))

    def _pair(self) -> Pair:
        pair = self._present()
        if pair is None:
            raise ModelError("No model is loaded.", "Load it first.")
        return pair
