"""Pure functions over graphs: no store, no models."""
