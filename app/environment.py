"""What this program was started with, of which its child processes do not see everything.

Children open files that strangers have made, and whoever reads the memory of one shall find no secret there.
"""

import os
from collections.abc import Mapping, MutableMapping

_SECRETS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def taken(environment: MutableMapping[str, str] = os.environ) -> Mapping[str, str]:
    """All of it as it is; what is secret has gone from `environment` itself then, which children inherit."""
    whole = dict(environment)
    for name in _SECRETS:
        environment.pop(name, None)
    return whole
