"""How conversations and users may be called."""

from __future__ import annotations

import re

from evigraph.errors import InvalidValue

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@=+~-]{0,127}")
_USER = re.compile(r"[!-~]{1,128}")


def check_conversation_id(value: object) -> str:
    """A conversation's id, or `InvalidValue`: it travels in URLs, so its letters are few."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise InvalidValue(
            f"invalid conversation id {ascii(value)[:80]}",
            hint="use 1 to 128 of A-Z a-z 0-9 . _ : @ = + ~ -, beginning with a letter or digit",
        )
    return value


def check_user(value: object) -> str:
    """A user's name, or `InvalidValue`: it travels in a header, so it is printable ASCII without blanks. "" is nobody
    in particular."""
    if not isinstance(value, str) or (value and not _USER.fullmatch(value)):
        raise InvalidValue(
            f"invalid user name {ascii(value)[:80]}",
            hint="use 1 to 128 printable ASCII characters without blanks, such as an account's id",
        )
    return value
