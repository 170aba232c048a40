"""The check of a model file on the terminal."""

import asyncio

from app.cli.say import note
from app.client.trust import Trust
from app.errors import ModelError
from app.wire import Progress


def passes(path: str, trust: Trust) -> bool:
    """Whether the file may be loaded; says that it is being checked, and why it may not."""
    said = False

    def tell(step: Progress) -> None:
        nonlocal said
        if not said:
            said = True
            note(f"{step.doing[0].lower()}{step.doing[1:]}, once for each new one")

    try:
        asyncio.run(trust.check(path, tell))
    except ModelError as error:
        note(str(error))
        return False
    return True
