"""Where things are: the state directory of a checkout, its instances, the SQL and the migrations."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tq_loader.problem import Problem

PACKAGE = Path(__file__).resolve().parent
DATABASE = "tq"
SUPERUSER = "tq"
# A unix socket address holds 108 bytes, the last of them a NUL.
SOCKET_PATH_BYTES = 107


@dataclass(slots=True, frozen=True)
class Home:
    """The state directory of one checkout: a virtual environment and one folder an instance."""

    path: Path

    @property
    def venv(self) -> Path:
        return self.path / "venv"

    @property
    def major(self) -> int:
        """Major version of the server that set-up chose for this home."""
        try:
            return int((self.path / "server").read_text(encoding="ascii"))
        except (OSError, ValueError):
            raise Problem(
                "set-up", f"{self.path} does not say which server to use", "run `make up`"
            ) from None

    @property
    def bindir(self) -> Path:
        """The server's own programs; /usr/local/bin may hold a `postgres` without any extension."""
        return Path("/usr/lib/postgresql") / str(self.major) / "bin"

    @property
    def site_packages(self) -> Path:
        found = sorted(self.venv.glob("lib/python3.*/site-packages"))
        if not found:
            raise Problem("set-up", f"there is no virtual environment in {self.venv}", "run `make up`")
        return found[-1]

    def instance(self, name: str | None = None) -> Instance:
        chosen = name or os.environ.get("TQ_INSTANCE") or "main"
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,30}", chosen) or chosen == "venv":
            raise Problem(
                "instance",
                f"{chosen!r} is no name for an instance",
                "use small letters, digits, - and _, such as main",
            )
        return Instance(self, chosen)


@dataclass(slots=True, frozen=True)
class Instance:
    """One private cluster: <home>/<name>/{data,run,log}, its port, and a local.conf for own settings."""

    home: Home
    name: str

    @property
    def root(self) -> Path:
        return self.home.path / self.name

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def port_file(self) -> Path:
        return self.root / "port"

    @property
    def local_conf(self) -> Path:
        """Settings of one's own, read last; never written by tq."""
        return self.root / "local.conf"

    @property
    def socket_dir(self) -> Path:
        """<root>/run, or a short stand-in where that makes a socket path no kernel takes."""
        wanted = self.root / "run"
        if len(os.fsencode(wanted / ".s.PGSQL.65535.lock")) <= SOCKET_PATH_BYTES:
            return wanted
        import hashlib

        mark = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        if os.geteuid() == 0:
            return Path("/run") / f"tq-{mark}"
        return Path("/tmp") / f"tq-{os.geteuid()}-{mark}"

    @property
    def port(self) -> int | None:
        """The port this instance was given, or None before its first start."""
        try:
            return int(self.port_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None

    def url(self, database: str = DATABASE) -> str:
        """A connection URL for psql and psycopg, over the unix socket, as the superuser role."""
        from urllib.parse import quote

        if self.port is None:
            raise Problem("url", f"instance {self.name} has never been started", "run `make up`")
        folder = quote(str(self.socket_dir), safe="/")
        return f"postgresql://{SUPERUSER}@/{quote(database, safe='')}?host={folder}&port={self.port}"


def find_home() -> Home:
    """The home this program was installed into, or TQ_HOME.

    Raises:
        Problem: tq was installed by other means, so that there is no private cluster.
    """
    named = os.environ.get("TQ_HOME")
    if named:
        return Home(Path(named))
    # .venv in the checkout is a link, and sys.prefix keeps its name.
    candidate = Path(sys.prefix).resolve().parent
    if (candidate / "checkout").is_file():
        return Home(candidate)
    raise Problem(
        "home",
        "this tq was not installed by `make up`, so it has no private cluster",
        "run `make up` in a checkout, or name a database with --url or TQ_URL",
    )


def database_url(url: str | None = None, instance: str | None = None) -> str:
    """The database to work on: the one named, else TQ_URL, else this home's own cluster, which has to run."""
    named = url or os.environ.get("TQ_URL")
    if named:
        return named
    chosen = find_home().instance(instance)
    from tq_loader.cluster import is_running

    if not is_running(chosen):
        why = "is not running" if chosen.data.exists() else "does not exist yet"
        raise Problem("database", f"instance {chosen.name} {why}", "run `make up` (or `tq up`)")
    return chosen.url()


def _shipped(inside: str, beside: str) -> Path:
    """A folder that ships inside the wheel, or the checkout's own when run from the tree."""
    installed = PACKAGE / inside
    return installed if installed.is_dir() else PACKAGE.parents[1] / beside


def sql_dir() -> Path:
    return _shipped("_sql", "sql")


def migrations_dir() -> Path:
    return _shipped("_migrations", "migrations")
