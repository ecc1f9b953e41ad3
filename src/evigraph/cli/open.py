"""Where the commands' work happens: in this process, or in the server that holds the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evigraph.errors import InvalidValue, StoreLocked

if TYPE_CHECKING:
    from evigraph.cli.backend import Backend
    from evigraph.config import Settings


def open_engine(data: str | None, workspace: str) -> Backend:
    """Open the store; if a server of this machine holds its folder, go through that server instead.

    Raises `StoreLocked` when some other process holds it, the other `StoreError`s, and `InvalidValue` for
    settings and workspace names.
    """
    from evigraph.cli.local import LocalEngine
    from evigraph.engine import Evigraph
    from evigraph.store.connect import embedded_folder, lock_holder

    settings = load_settings(data=data)
    try:
        return LocalEngine(Evigraph(settings=settings, workspace=workspace))
    except StoreLocked:
        folder = embedded_folder(settings.data)
        url = None if folder is None else lock_holder(folder).get("url")
        if not isinstance(url, str):
            raise
        from evigraph.cli.remote import RemoteEngine

        return RemoteEngine(url, workspace)


def load_settings(**given: str | int | None) -> Settings:
    """Settings from options, environment and file. `InvalidValue` leaves the value out: it may be secret."""
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from evigraph.config import Settings

    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        found = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise InvalidValue(
            f"invalid settings: {found}",
            hint="correct the option, EVIGRAPH_* variable or key in the TOML file",
        ) from None
    except SettingsError:
        # Only a variable is parsed before it is checked, and of them one alone is JSON.
        raise InvalidValue(
            "invalid settings: EVIGRAPH_EMBEDDERS is not valid JSON",
            hint='write it as {"NAME": "minilm"}, or as a table in the TOML file',
        ) from None
