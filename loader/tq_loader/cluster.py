"""A private PostgreSQL cluster for one checkout: make, configure, start, stop.

Never the machine's own cluster: an own data directory, an own socket directory that only its account can
enter, and a port that was free when it was chosen. PostgreSQL refuses to run as root, so root lends it the
account `postgres`.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import socket
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tq_loader.home import DATABASE, SUPERUSER, Instance
from tq_loader.problem import Problem

START_SECONDS = 60
# Below what kernels hand out to outgoing connections, above what services are usually given.
PORTS = range(21000, 29000)
# What the server may see of the environment of whoever starts it: the keys and addresses of models and of S3, and the
# way through a proxy. Everything else stays out.
PASSED = ("ANTHROPIC_", "OPENAI_", "AWS_")
PASSED_WHOLE = (
    "TQ_KEY_FILE",
    "TQ_KEY_HOSTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)

Say = Callable[[str], None]


@dataclass(slots=True, frozen=True)
class Account:
    """The account that the server runs as."""

    name: str
    uid: int
    gid: int
    borrowed: bool  # root lends it: files are handed over to it, programs run as it


def account() -> Account:
    """The own account; for root, `postgres`.

    Raises:
        Problem: root, and the machine has no account `postgres`.
    """
    if os.geteuid() != 0:
        own = pwd.getpwuid(os.geteuid())
        return Account(own.pw_name, own.pw_uid, own.pw_gid, borrowed=False)
    try:
        lent = pwd.getpwnam("postgres")
    except KeyError:
        raise Problem(
            "account",
            "PostgreSQL refuses to run as root, and there is no account postgres",
            "run `make up`, which installs the server's package",
        ) from None
    return Account(lent.pw_name, lent.pw_uid, lent.pw_gid, borrowed=True)


def run(
    command: Sequence[str | os.PathLike[str]], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program of the server as the server's account; standard error is folded into the output.

    The working directory is /: that account may not be able to enter the caller's.
    """
    who = account()
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **(env or {})}
    return subprocess.run(
        [os.fspath(part) for part in command],
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        umask=0o077,
        check=False,
        user=who.uid if who.borrowed else None,
        group=who.gid if who.borrowed else None,
        extra_groups=[who.gid] if who.borrowed else None,
    )


def is_running(instance: Instance) -> bool:
    """Whether something accepts connections on the instance's socket."""
    if instance.port is None:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(5)
        try:
            probe.connect(os.fspath(instance.socket_dir / f".s.PGSQL.{instance.port}"))
        except OSError:
            return False
    return True


@contextmanager
def locked(instance: Instance) -> Iterator[None]:
    """Holds the instance against another start, stop or migration by this program."""
    with open(instance.home.path / f".{instance.name}.lock", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def port_is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose_port(instance: Instance, free: Callable[[int], bool] = port_is_free) -> int:
    """The instance's port: TQ_PORT, else the one it had, else a free one, always tried in the same order.

    Raises:
        Problem: TQ_PORT is no port, or is taken.
    """
    asked = os.environ.get("TQ_PORT")
    if asked:
        if not asked.isascii() or not asked.isdigit() or not 1024 <= int(asked) <= 65535:
            raise Problem(
                "port", f"TQ_PORT={asked} is no port", "give a number from 1024 to 65535, or unset it"
            )
        if not free(int(asked)):
            raise Problem("port", f"TQ_PORT={asked} is taken", "choose another, or unset it for a free one")
        return int(asked)
    remembered = instance.port
    if remembered is not None and free(remembered):
        return remembered
    first = zlib.crc32(os.fsencode(instance.root)) % len(PORTS)
    for step in range(len(PORTS)):
        port = PORTS[(first + step) % len(PORTS)]
        if free(port):
            return port
    raise Problem("port", f"no port from {PORTS.start} to {PORTS.stop - 1} is free", "name one with TQ_PORT")


def reserve_port(instance: Instance) -> int:
    """Chooses the port and remembers it; a second call, also with the server up on it, gives the same."""
    if instance.port is not None and is_running(instance):
        return instance.port
    port = choose_port(instance)
    if port != instance.port:
        _write(instance.port_file, f"{port}\n")
    return port


def server_environment(instance: Instance, source: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The postmaster's whole environment."""
    passed = {key: value for key, value in source.items() if key.startswith(PASSED) or key in PASSED_WHOLE}
    return {
        **passed,
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        # How the server finds the engine. Fixed here, never a setting: whoever may SET that could load code.
        "PYTHONPATH": os.fspath(instance.home.site_packages),
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # The interpreter with which a backend starts the converter.
        "TQ_PYTHON": os.fspath(instance.home.venv / "bin" / "python"),
    }


def configuration(instance: Instance, port: int) -> str:
    """The text of tq.conf, which postgresql.conf includes."""

    def quoted(value: object) -> str:
        return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"

    settings: dict[str, object] = {
        "listen_addresses": quoted("127.0.0.1"),
        "port": port,
        "unix_socket_directories": quoted(_listed(instance.socket_dir)),
        "unix_socket_permissions": "0700",
        "max_connections": 100,
        "max_worker_processes": 16,
        "shared_buffers": quoted("256MB"),
        "jit": "off",
        "max_wal_size": quoted("2GB"),
        "random_page_cost": 1.1,
        "password_encryption": quoted("scram-sha-256"),
        "shared_preload_libraries": quoted("pg_cron"),
        "cron.database_name": quoted(DATABASE),
        # Jobs connect like any client: over the socket, where no password is asked for.
        "cron.host": quoted(instance.socket_dir),
        "logging_collector": "on",
        "log_directory": quoted(instance.log),
        # One file a weekday, overwritten a week later: a log that cannot fill the disk.
        "log_filename": quoted("postgresql-%a.log"),
        "log_truncate_on_rotation": "on",
        "log_rotation_age": quoted("1d"),
        "log_rotation_size": 0,
        "log_line_prefix": quoted("%m [%p] %q%u@%d "),
        "timezone": quoted("UTC"),
        "log_timezone": quoted("UTC"),
    }
    if instance.name == "test":
        # Nothing here outlives a test run.
        settings |= {
            "shared_buffers": quoted("128MB"),
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "off",
            "max_wal_size": quoted("512MB"),
        }
    lines = [
        "# Written by tq at every start: changes here are lost.",
        f"# Own settings belong in {instance.local_conf}",
    ]
    lines += [f"{name} = {value}" for name, value in settings.items()]
    lines.append(f"include_if_exists = {quoted(instance.local_conf)}")
    return "\n".join(lines) + "\n"


HBA = """\
# Written by tq. Only the server's account can enter the socket's directory, so no password is asked there.
local   all             all                                     trust
host    all             all             127.0.0.1/32            scram-sha-256
host    all             all             ::1/128                 scram-sha-256
local   replication     all                                     trust
"""


def up(instance: Instance, say: Say = lambda line: None) -> bool:
    """Makes the cluster where there is none and starts it where it does not run; True if it was started.

    Raises:
        Problem: with the server's own last words where it did not start.
    """
    if is_running(instance):
        if not _config_is_current(instance):
            say(f"settings of instance {instance.name} changed: restarting the server")
            down(instance)
        else:
            return False
    _check_programs(instance)
    _make_folders(instance)
    fresh = not (instance.data / "PG_VERSION").exists()
    if fresh:
        say(f"making a cluster for instance {instance.name} in {instance.data}")
        _initialise(instance)
    else:
        made_by = (instance.data / "PG_VERSION").read_text(encoding="ascii").strip()
        if made_by != str(instance.home.major):
            raise Problem(
                "start",
                f"{instance.data} was made by PostgreSQL {made_by}, and {instance.home.major} is set up here",
                f"install postgresql-{made_by} and write {made_by} into {instance.home.path / 'server'}",
            )
    had = instance.port
    port = reserve_port(instance)
    if had is not None and had != port:
        say(f"port {had} is not to be had: instance {instance.name} now listens on {port}")
    _give(instance.data / "tq.conf", configuration(instance, port))
    _give(instance.data / "pg_hba.conf", HBA)
    say(f"starting PostgreSQL {instance.home.major} for instance {instance.name} (port {port})")
    _start(instance)
    return True


def down(instance: Instance) -> bool:
    """Stops the server; False where it was not running."""
    if not (instance.data / "postmaster.pid").exists():
        return False
    done = run(
        [
            instance.home.bindir / "pg_ctl",
            "stop",
            "-D",
            instance.data,
            "-m",
            "fast",
            "-w",
            "-t",
            str(START_SECONDS),
        ]
    )
    if done.returncode != 0 and is_running(instance):
        raise Problem("stop", _last_line(done.stdout), f"see the log in {instance.log}")
    return done.returncode == 0


def remove(instance: Instance) -> None:
    """Stops the server and deletes the instance's folder.

    Raises:
        Problem: the folder is none that tq made; TQ_HOME may be a directory with other things in it.
    """
    if instance.port is None:
        raise Problem("delete", f"{instance.root} is no private cluster", "nothing was deleted")
    down(instance)
    if instance.socket_dir.parent != instance.root:
        shutil.rmtree(instance.socket_dir, ignore_errors=True)
    shutil.rmtree(instance.root, ignore_errors=False)


def _check_programs(instance: Instance) -> None:
    library = instance.home.bindir.parent / "lib"
    for path, package in (
        (instance.home.bindir / "initdb", f"postgresql-{instance.home.major}"),
        (library / "plpython3.so", f"postgresql-plpython3-{instance.home.major}"),
        (library / "pg_cron.so", f"postgresql-{instance.home.major}-cron"),
    ):
        if not path.exists():
            raise Problem(
                "start", f"{path} is missing", f"run `make up`, or as root: apt-get install {package}"
            )


def _make_folders(instance: Instance) -> None:
    who = account()
    _open_folder(instance.root)
    # Only the server's account goes in: the socket asks for no password.
    for folder in (instance.log, instance.socket_dir):
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            pass
        else:
            if who.borrowed:
                os.chown(folder, who.uid, who.gid)
        state = folder.stat(follow_symlinks=False)
        if state.st_uid != who.uid or state.st_mode & 0o022:
            raise Problem(
                "start",
                f"{folder} does not belong to {who.name} alone",
                "remove it if it is nobody's, then run `make up` again",
            )
    if run(["/usr/bin/test", "-x", instance.log]).returncode != 0:
        raise Problem(
            "start",
            f"the account {who.name}, which runs the server, cannot enter {instance.root}",
            "set TQ_HOME to a directory whose parents everyone may enter, such as /var/lib/tq/here",
        )


def _initialise(instance: Instance) -> None:
    # Made beside and renamed when whole: what a killed run leaves would be taken for a cluster next time.
    making = instance.data.with_name("data.new")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(mode=0o700)
    who = account()
    if who.borrowed:
        os.chown(making, who.uid, who.gid)
    done = run(
        [
            instance.home.bindir / "initdb",
            "--pgdata", making,
            "--username", SUPERUSER,
            "--encoding", "UTF8",
            "--locale", "C.UTF-8",
            "--auth-local", "trust",
            "--auth-host", "scram-sha-256",
            "--data-checksums",
            *(["--no-sync"] if instance.name == "test" else []),
        ]
    )  # fmt: skip
    if done.returncode != 0:
        raise Problem("initdb", _last_line(done.stdout), f"{instance.home.bindir}/initdb said the above")
    with open(making / "postgresql.conf", "a", encoding="utf-8") as file:
        file.write("\ninclude = 'tq.conf'\n")
    making.rename(instance.data)


def _start(instance: Instance) -> None:
    start_log = instance.log / "start.log"
    done = run(
        [
            instance.home.bindir / "pg_ctl", "start",
            "-D", instance.data, "-l", start_log, "-w", "-t", str(START_SECONDS), "-s",
        ],
        env=server_environment(instance),
    )  # fmt: skip
    if done.returncode != 0:
        raise Problem("start", _why_not_started(instance, done.stdout), f"see {instance.log}")


def _why_not_started(instance: Instance, said: str) -> str:
    logs = sorted(instance.log.glob("*.log"), key=lambda path: path.stat().st_mtime)
    for path in reversed(logs):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-40:]
        told = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
        if told:
            return told[-1].strip()
    return _last_line(said)


def _config_is_current(instance: Instance) -> bool:
    try:
        text = (instance.data / "tq.conf").read_text(encoding="utf-8")
    except OSError:
        return False
    asked = os.environ.get("TQ_PORT") or str(instance.port)
    return text == configuration(instance, int(asked) if asked.isdigit() else -1)


def _listed(folder: Path) -> str:
    """A socket directory as one element of the list that the setting is."""
    text = os.fspath(folder)
    return '"' + text.replace('"', '""') + '"'


def _open_folder(folder: Path) -> None:
    """Makes a folder that everyone may enter, whatever the umask: the server's account is not its owner."""
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(0o755)


def _write(path: Path, text: str) -> None:
    _open_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _give(path: Path, text: str) -> None:
    """Writes a file of the server's, owned by its account, and only if it says something new."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    _write(path, text)
    who = account()
    if who.borrowed:
        os.chown(path, who.uid, who.gid)
    path.chmod(0o600)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was given"
