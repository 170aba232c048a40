"""The names of tools.  Pure."""

import re

_NAME = re.compile(r"(?:functions\.)?([A-Za-z0-9_-]{1,64})(?::[0-9]+)?")


def tool_name(text: str) -> str:
    """The name in what a model wrote for one (`functions.` before and a number behind it are no part of it), or ""."""
    found = _NAME.fullmatch(text.strip())
    return "" if found is None else found.group(1)
