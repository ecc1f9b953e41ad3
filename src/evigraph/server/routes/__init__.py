"""One module per group of endpoints, each with a `router`."""
