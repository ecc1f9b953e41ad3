"""The command line: parse, call the engine or the server that holds the store, render."""
