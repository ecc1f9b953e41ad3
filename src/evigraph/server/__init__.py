"""The HTTP server: `create_app` in `app.py`, `serve` in `run.py`."""
