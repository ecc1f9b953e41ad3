"""Names of workspaces."""

from __future__ import annotations

import re

from evigraph.errors import InvalidValue

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_workspace(name: str) -> str:
    """Return the name, or raise `InvalidValue`: it travels in headers, paths and metrics, so its letters are few."""
    if not _NAME.fullmatch(name):
        raise InvalidValue(
            f"invalid workspace name {name[:80]!r}",
            hint="use 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
        )
    return name
