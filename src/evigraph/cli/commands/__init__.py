"""One small module per group of commands; each adds its commands to the application it is given."""
