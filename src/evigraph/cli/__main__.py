"""`python -m evigraph.cli`, the same as `evigraph`."""

from evigraph.cli.main import run

run()
