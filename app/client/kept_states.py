"""The files in which engines keep the states of chats, as far as the app has to do with them: to delete them.

An engine deletes its own when it is told to forget a chat; those of models that are not loaded are deleted here.
"""

import logging
from pathlib import Path

_LOG = logging.getLogger(__name__)


def delete_states(folder: str, owner: int) -> None:
    """Delete the states of this chat under `folder` ("": there is none), of every model."""
    if not folder:
        return
    for path in Path(folder).glob(f"*/{owner}-*.state"):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _LOG.warning("a chat's state could not be deleted: %s", error)
