"""All SQL of the engine: one protocol, its adapter for the server, and the statements by subject."""
