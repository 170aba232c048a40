"""A form that is bad, endless or deadly for the text worker costs the request that asked for it, and no other."""

import pytest

from app.client.text import TextClient
from app.dialogue import ChatLine
from app.errors import FormError, TextError
from app.grammar.model import Form, Kind
from tests import scripted_children
from tests.scripted_children import ANYTHING, PARAMS, Births, FakeClock, begin, run, turns

pytestmark = pytest.mark.crash


def form(source: str) -> Form:
    return Form(Kind.GBNF, source, "grammar")


def test_each_bad_form_is_told_to_its_own_request() -> None:
    async def scenario() -> None:
        births = Births(scripted_children.text_worker)
        clock = FakeClock()
        client = TextClient(births, PARAMS, clock=clock)
        await client.load(lambda _: None)
        endless = begin(client.constrain(form("LOOP")))
        other = begin(client.render([ChatLine("user", "hello")]))
        await turns()
        clock.advance(2.1)
        with pytest.raises(FormError, match="'grammar' took longer than") as slow:
            await endless
        assert slow.value.field == "grammar"
        assert (await other).tokens == tuple(b"hello")
        deadly, another = begin(client.constrain(form("DIE"))), begin(client.count("four"))
        with pytest.raises(TextError, match="exit code 9"):
            await deadly
        assert await another == 4
        with pytest.raises(FormError, match="bad") as bad:
            await client.constrain(form("BAD"))
        assert bad.value.field == "grammar"
        assert await client.constrain(form("good")) == ANYTHING
        # The first, the second beside the endless one, and one for each death.
        assert len(births.children) == 5
        await client.stop()

    run(scenario())
