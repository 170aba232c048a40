"""Children give way from their first instruction on, and cost nobody else his place."""

import os
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

import pytest

from app.client.child import Child
from app.errors import EngineDied
from app.wire import LastWords
from tests.scripted_children import PARAMS, run

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a child lowers itself"),
]

STEPS = 7


def tell(connection: "Connection[Any, Any]", name: str) -> None:
    """A child that says how low it is, and ends."""
    connection.send(LastWords(str(os.getpriority(os.PRIO_PROCESS, 0)), name))


def test_a_child_is_as_low_as_it_shall_be_before_it_does_anything() -> None:
    async def scenario() -> None:
        own = os.getpriority(os.PRIO_PROCESS, os.getpid())
        ends = []
        child = Child(tell, "low", on_message=lambda _: None, on_death=ends.append, yields=STEPS)
        with pytest.raises(EngineDied):
            await child.load(PARAMS, lambda _: None)
        assert [end.last_words for end in ends] == [str(min(19, own + STEPS))]
        threads = [thread.native_id for thread in threading.enumerate() if thread.native_id]
        assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads} == {own}

    run(scenario())
