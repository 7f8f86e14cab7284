"""tq: document question answering inside PostgreSQL. This package is the engine that the server runs."""

__version__ = "0.1.0"
