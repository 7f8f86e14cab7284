"""What stands around the engine: command line, private clusters, migrations, conversion."""

__version__ = "0.1.0"
