"""`serve`: the HTTP server."""

from __future__ import annotations

from typing import Annotated

import typer

from evigraph.cli.render import emit, say
from evigraph.cli.session import Session, command


def install(app: typer.Typer) -> None:
    command(app, "serve")(run_server)


def run_server(
    session: Session,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1.", show_default=False)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen on; 0 takes a free one. Default: 8080.", show_default=False),
    ] = None,
) -> None:
    """Serve the HTTP API until interrupted. Other commands on the same store then go through this server.

    There is no authentication: listen on addresses that only trusted programs reach. OpenAPI is at /docs.
    """
    import logging

    from evigraph.cli.open import load_settings
    from evigraph.server.run import serve

    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings = load_settings(data=session.data, host=host, port=port)

    def started(url: str) -> None:
        if session.as_json:
            emit({"url": url})
        else:
            say(f"evigraph serves {url} (documentation at {url}/docs); stop it with Ctrl-C")

    serve(settings, on_started=started)
