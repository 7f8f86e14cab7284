"""One module a family of commands; cli.py names them and imports each when it is used."""
