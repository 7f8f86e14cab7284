"""`tq doctor`: looks at what people get wrong, and says how to mend it.

Each check is a function of its own that returns findings; what one needs and is not there is a finding too,
never a traceback.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tq_loader.home import Instance, find_home
from tq_loader.problem import Problem

if TYPE_CHECKING:
    import psycopg

Result = Literal["ok", "warn", "fail"]
ROLES = ("tq_owner", "tq_reader", "tq_loader", "tq_worker", "tq_admin")
LOW_DISK_BYTES = 2 * 1024**3
STALE_MINUTES = 10


@dataclass(slots=True, frozen=True)
class Finding:
    """One line of the report: what was looked at, what was seen, and how to mend it where that is needed."""

    check: str
    result: Result
    seen: str
    mend: str = ""


def ok(check: str, seen: str) -> Finding:
    return Finding(check, "ok", seen)


def examine(url: str | None = None, instance: str | None = None) -> list[Finding]:
    """All checks: of the private cluster on this machine, or of the database at `url` (or TQ_URL) alone."""
    named = url or os.environ.get("TQ_URL")
    findings: list[Finding] = []
    if named is None:
        try:
            chosen = find_home().instance(instance)
            findings += check_home(chosen)
            named = chosen.url()
        except Problem as problem:
            return [*findings, Finding(problem.step, "fail", problem.why, problem.mend)]
        if any(finding.result == "fail" for finding in findings):
            return findings
    import psycopg

    from tq_loader.database import OWN_PATH_OF_SESSION

    try:
        connection = psycopg.connect(named, autocommit=True, connect_timeout=5)
        connection.execute(OWN_PATH_OF_SESSION)
    except psycopg.Error as error:
        seen = " ".join(str(error).split())
        return [
            *findings,
            Finding("server", "fail", seen, "run `make up`, or look at the address and the role"),
        ]
    with connection:
        findings += check_server(connection)
        for check in DATABASE_CHECKS:
            try:
                findings += check(connection)
            except psycopg.Error as error:
                name = check.__name__.removeprefix("check_").replace("_", " ")
                why = f"{error.diag.message_primary or error} [{error.sqlstate}]"
                findings.append(
                    Finding(
                        name, "fail", f"could not be looked at: {why}", "run `tq migrate`, as a superuser"
                    )
                )
    return findings


# ---- the machine ----------------------------------------------------------------------------------------


def check_home(instance: Instance) -> list[Finding]:
    """State directory, programs, disk and whether the instance runs."""
    from tq_loader.cluster import is_running

    home = instance.home
    findings = []
    for path, package in (
        (home.bindir / "postgres", f"postgresql-{home.major}"),
        (home.bindir.parent / "lib/plpython3.so", f"postgresql-plpython3-{home.major}"),
        (home.bindir.parent / "lib/pg_cron.so", f"postgresql-{home.major}-cron"),
    ):
        if not path.exists():
            findings.append(
                Finding("packages", "fail", f"{path} is missing", f"run `make up`, which installs {package}")
            )
    if not findings:
        findings.append(ok("packages", f"PostgreSQL {home.major} with plpython3 and pg_cron"))
    try:
        checkout = (home.path / "checkout").read_text(encoding="utf-8").strip()
    except OSError:
        checkout = ""
    if checkout and not Path(checkout).is_dir():
        mend = f"run `make up` where it is now; this state directory can then go: rm -rf {home.path}"
        findings.append(Finding("checkout", "warn", f"{checkout} is gone", mend))
    if is_running(instance):
        findings.append(
            ok("instance", f"{instance.name} runs on port {instance.port}, state in {instance.root}")
        )
    else:
        why = "does not run" if instance.data.exists() else "does not exist yet"
        findings.append(Finding("instance", "fail", f"{instance.name} {why}", "run `make up` (or `tq up`)"))
    free = shutil.disk_usage(home.path).free
    if free < LOW_DISK_BYTES:
        findings.append(
            Finding("disk", "warn", f"{free // 1024**2} MB free under {home.path}", "make room there")
        )
    return findings


# ---- the server -----------------------------------------------------------------------------------------


def setting(connection: psycopg.Connection[Any], name: str) -> str | None:
    row = connection.execute("SELECT current_setting(%s, true)", [name]).fetchone()
    return None if row is None else row[0]


def check_server(connection: psycopg.Connection[Any]) -> list[Finding]:
    """Version, and whether the role may see enough for the rest."""
    version = connection.info.server_version // 10000
    findings = []
    if version < 15:
        findings.append(Finding("server", "fail", f"PostgreSQL {version}", "tq needs 15 or newer"))
    else:
        findings.append(ok("server", f"PostgreSQL {connection.info.parameter_status('server_version')}"))
    row = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if row is None or not row[0]:
        mend = "connect as a superuser for the checks inside the server"
        findings.append(
            Finding("role", "warn", "the role is no superuser, so some checks cannot be made", mend)
        )
    return findings


def package_hash(folder: Path) -> str:
    """sha256 over the engine's modules in `folder`, the package's own directory."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


# Runs in the server, so it can use nothing but what is there. Its parameter and its answer are JSON.
INSIDE = """
CREATE OR REPLACE FUNCTION pg_temp.tq_doctor(task jsonb) RETURNS jsonb LANGUAGE plpython3u AS $body$
import hashlib, importlib.metadata, json, os, pathlib, subprocess, sys
wanted = json.loads(task)
seen = {"python": "%d.%d.%d" % sys.version_info[:3]}
try:
    import tq
    folder = pathlib.Path(tq.__file__).resolve().parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\\0" + path.read_bytes() + b"\\0")
    seen["hash"] = digest.hexdigest()
    seen["folder"] = str(folder)
    seen["version"] = importlib.metadata.version("tq")
except ImportError as error:
    seen["import_error"] = str(error)
except importlib.metadata.PackageNotFoundError:
    seen["version"] = getattr(tq, "__version__", "unknown")
seen["missing"] = []
for name in wanted["modules"]:
    try:
        __import__(name)
    except ImportError as error:
        seen["missing"].append("%s (%s)" % (name, error))
def run(*command, told=False):
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT,
                              env=environment, cwd="/", timeout=15)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace").strip() if told else ""
    return done.stdout.decode("utf-8", "replace").strip() or "exit %d" % done.returncode
seen["unshare"] = run("unshare", "-r", "-n", "true")
python = os.environ.get("TQ_PYTHON") or ""
seen["interpreter"] = python
if python:
    seen["converter"] = run(python, "-I", "-c", "import tq_loader.convert.detect")
    if not seen["converter"]:
        seen["pictures"] = run(python, "-I", "-c", wanted["pictures"], told=True)
    if wanted["job"]:
        connect = "import sys, psycopg; psycopg.connect(sys.argv[1]).close()"
        seen["job"] = run(python, "-I", "-c", connect, wanted["job"])
if "import_error" not in seen:
    def attempt(step):
        try:
            return step()
        except Exception as error:
            return {"error": getattr(error, "message", str(error)), "detail": getattr(error, "detail", None),
                    "hint": getattr(error, "hint", None)}
    def key_of(driver, base_url):
        from dataclasses import asdict
        from tq.model import keys
        found = keys.seen(driver, base_url)
        return None if found is None else asdict(found)
    def store(place, digest, writes):
        import io
        from tq.store import open_store
        opened = open_store(place, lambda: plpy.execute("SELECT 1"))
        if writes:
            content = os.urandom(32)
            own = hashlib.sha256(content).hexdigest()
            opened.put(own, io.BytesIO(content), len(content))
            try:
                if opened.read(own, 0, 64) != content:
                    return {"error": "what was written is not what is read", "detail": place, "hint": None}
            finally:
                opened.delete(own)
        return {"sample": len(opened.read(digest, 0, 65536)) if digest else None}
    seen["models"] = [attempt(lambda: key_of(*model)) for model in wanted["models"]]
    seen["stores"] = [attempt(lambda: store(*place)) for place in wanted["stores"]]
return json.dumps(seen)
$body$"""

# Runs in the converter's interpreter: the languages that pictures can be read in.
PICTURES = "from tq_loader.convert import ocr; print('languages:', *ocr.languages())"
MODULES = ("msgspec", "Stemmer", "sqlglot")


def check_inside(connection: psycopg.Connection[Any]) -> list[Finding]:
    """What the server's own Python is, and whether it finds the same engine as this program."""
    row = connection.execute("SELECT lanpltrusted FROM pg_language WHERE lanname = 'plpython3u'").fetchone()
    if row is None:
        return [
            Finding(
                "plpython", "fail", "plpython3u is not in this database", "run `tq migrate`, as a superuser"
            )
        ]
    superuser = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if superuser is None or not superuser[0]:
        return []
    models, stores = models_in_use(connection), stores_in_use(connection)
    task = {
        "modules": MODULES,
        "job": job_address(connection),
        "pictures": PICTURES,
        "models": [(model.driver, model.base_url) for model in models],
        "stores": [
            (store.place, store.digest, store.wanted) for store in stores if store.place != "database"
        ],
    }
    connection.execute(INSIDE)
    answer = connection.execute("SELECT pg_temp.tq_doctor(%s::jsonb)", [json.dumps(task)]).fetchone()
    assert answer is not None
    seen: dict[str, Any] = answer[0]
    return [
        *_python(seen),
        *_package(seen),
        *_converter(seen),
        *_pictures(seen),
        *_job(connection, seen),
        *_models(models, seen.get("models", [])),
        *_stores(stores, seen.get("stores", [])),
    ]


def _python(seen: dict[str, Any]) -> list[Finding]:
    own = platform.python_version()
    if seen["python"].split(".")[:2] != own.split(".")[:2]:
        mend = "build the environment with the server's Python: run `make up`"
        return [Finding("server's Python", "fail", f"{seen['python']}, but this environment is {own}", mend)]
    return [ok("server's Python", f"{seen['python']}, as in this environment")]


def _package(seen: dict[str, Any]) -> list[Finding]:
    mend = "run `make up`; with a server of your own, set PYTHONPATH of the postmaster to " + _site_packages()
    if "import_error" in seen:
        return [Finding("engine", "fail", f"the server cannot import it: {seen['import_error']}", mend)]
    import tq

    findings = []
    version = importlib.metadata.version("tq")
    if seen["version"] != version:
        findings.append(Finding("engine", "fail", f"{seen['version']} in the server, {version} here", mend))
    elif seen["hash"] != package_hash(Path(tq.__file__).resolve().parent):
        findings.append(
            Finding("engine", "fail", f"the server's copy in {seen['folder']} is not the one here", mend)
        )
    else:
        findings.append(ok("engine", f"tq {version}, the same in the server and here"))
    if seen["missing"]:
        findings.append(
            Finding("packages inside", "fail", "the server cannot import " + ", ".join(seen["missing"]), mend)
        )
    return findings


def _site_packages() -> str:
    return f"{sys.prefix}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def _converter(seen: dict[str, Any]) -> list[Finding]:
    findings = []
    if not seen["interpreter"]:
        mend = "start the server by `tq up`, or with TQ_PYTHON=<environment>/bin/python"
        findings.append(Finding("converter", "warn", "the server's environment has no TQ_PYTHON", mend))
    elif seen["converter"]:
        last = seen["converter"].splitlines()[-1]
        findings.append(Finding("converter", "fail", f"{seen['interpreter']}: {last}", "run `make up`"))
    if not findings:
        findings.append(ok("converter", f"starts{'' if seen['unshare'] else ', without a network'}"))
    if seen["unshare"]:
        findings.append(
            Finding(
                "converter's network",
                "warn",
                f"cannot be cut off ({seen['unshare'].splitlines()[-1]}): a hostile file that took over the"
                " converter could reach it",
                "allow user namespaces to the server's account (sysctl user.max_user_namespaces, the"
                " container's profile), or load only files that you trust",
            )
        )
    return findings


def _pictures(seen: dict[str, Any]) -> list[Finding]:
    """Pictures and scanned pages: an option, so that nothing here is a failure."""
    if "pictures" not in seen:
        return []
    _, mark, names = seen["pictures"].rpartition("languages:")
    languages = names.split()
    if mark and languages:
        shown = ", ".join(languages[:6]) + (f" and {len(languages) - 6} more" if len(languages) > 6 else "")
        return [
            ok("pictures", f"read by Tesseract, in {shown}; more: apt-get install tesseract-ocr-LANGUAGE")
        ]
    mend = "as root: apt-get install tesseract-ocr tesseract-ocr-osd"
    return [Finding("pictures", "warn", "pictures and scanned pages cannot be read: no Tesseract", mend)]


def job_address(connection: psycopg.Connection[Any]) -> str | None:
    """How a pg_cron job of this role connects; None where it does not (background workers, or no pg_cron)."""
    if (
        setting(connection, "cron.database_name") is None
        or setting(connection, "cron.use_background_workers") == "on"
    ):
        return None
    from psycopg.conninfo import make_conninfo

    return make_conninfo(
        host=setting(connection, "cron.host") or None,
        port=setting(connection, "port"),
        dbname=connection.info.dbname,
        user=connection.info.user,
        connect_timeout=5,
    )


def _job(connection: psycopg.Connection[Any], seen: dict[str, Any]) -> list[Finding]:
    if "job" not in seen:
        return []
    if seen["job"]:
        host = setting(connection, "cron.host")
        mend = (
            "set cron.host to a socket directory that asks for no password, or cron.use_background_workers ="
            " on, and restart"
        )
        return [Finding("pg_cron connection", "fail", f"{host}: {seen['job'].splitlines()[-1]}", mend)]
    return [ok("pg_cron connection", f"a job can connect over {setting(connection, 'cron.host')}")]


# ---- models and their keys, as the server has them ------------------------------------------------------


@dataclass(slots=True, frozen=True)
class ModelInUse:
    """A model, and what names it: settings and strategies. ``driver`` is None for a name that has no row."""

    name: str
    named_by: tuple[str, ...]
    driver: str | None
    base_url: str | None
    remote_name: str | None


_MODELS = """
WITH named (name, by, place) AS (
    SELECT s.value #>> '{}', CASE s.name WHEN 'model' THEN '' ELSE substr(s.name, 7) END, s.name
    FROM tq.setting AS s WHERE s.name = 'model' OR (s.name LIKE 'model\\_%' AND s.value #>> '{}' <> '')
    UNION ALL
    SELECT e.value, 'strategy ' || s.name, 'strategy ' || s.name
    FROM tq.strategy AS s, jsonb_each_text(to_jsonb(s)) AS e WHERE e.key ~ '^model(_|$)' AND e.value IS NOT NULL
)
SELECT n.name, array_agg(DISTINCT n.by ORDER BY n.by), min(m.driver), min(m.base_url), min(m.remote_name)
FROM named AS n LEFT JOIN tq.model AS m ON m.name = n.name GROUP BY n.name ORDER BY bool_or(n.by = '') DESC, n.name
"""


def models_in_use(connection: psycopg.Connection[Any]) -> list[ModelInUse]:
    """The model of the setting `model` first, then those that one purpose or a strategy has; none without tq."""
    if connection.execute("SELECT to_regclass('tq.setting')").fetchone() == (None,):
        return []
    return [
        ModelInUse(name, tuple(named_by), *rest)
        for name, named_by, *rest in connection.execute(_MODELS).fetchall()
    ]


def _models(models: list[ModelInUse], keys: list[dict[str, Any] | None]) -> list[Finding]:
    findings = []
    for n, model in enumerate(models):
        key = keys[n] if n < len(keys) else None
        purposes = [by for by in model.named_by if by]
        check = "model" if "" in model.named_by else "model of " + ", ".join(purposes[:4])
        if model.driver is None:
            where = "the setting model" if check == "model" else ", ".join(purposes[:4])
            mend = f"name a row of tq.model there, or add one: {model.name}"
            findings.append(Finding(check, "fail", f"{where} names no row of tq.model: {model.name}", mend))
        else:
            findings.append(_model(check, model, key))
    return findings


def _model(check: str, model: ModelInUse, key: dict[str, Any] | None) -> Finding:
    """Whether a model can be asked with what the server process has; a key in this shell helps nobody."""
    if model.driver == "extractive":
        return ok(check, f"{model.name} (embedded: no key, no network)")
    what = f"{model.name} ({model.driver}{f', {model.remote_name}' if model.remote_name else ''})"
    if key is None:
        return Finding(check, "warn", f"{what}: its key was not looked for", "run `make up`, then look again")
    if "error" in key:
        seen = f"{what}: {key['error']}" + (f": {key['detail']}" if key["detail"] else "")
        return Finding(check, "fail", seen, key["hint"] or "")
    name = key["key"]
    if key["place"] and key["sent"]:
        return ok(check, f"{what}, with {name} of {key['place']} of the server, at {key['url']}")
    if key["place"]:
        mend = f"if it is to have the key: start the server with TQ_KEY_HOSTS={_host(key['url'])}"
        return ok(check, f"{what}, without a key, at {key['url']}") if not key["needed"] else Finding(
            check, "fail", f"{what}: {key['url']} may not have the key", mend
        )  # fmt: skip
    if not key["needed"]:
        return ok(check, f"{what}, without a key, at {key['url']}")
    here = f", though this shell has {name}" if os.environ.get(name) else ""
    mend = (
        f"export {name} and start the server anew (`make down up`), or put a line {name}=… into a file of mode 600 that"
        " TQ_KEY_FILE names in its environment"
    )
    return Finding(check, "fail", f"{what}, and the server has no {name}{here}", mend)


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    return urlsplit(url).hostname or url


# ---- where the files' bytes are -------------------------------------------------------------------------


@dataclass(slots=True, frozen=True)
class StoreInUse:
    """``wanted``: new files go there; ``digest``, ``document``: one of the files that are there."""

    place: str
    wanted: bool
    files: int
    digest: str | None
    document: str | None


_STORES = """
WITH wanted AS (SELECT coalesce((SELECT s.value #>> '{}' FROM tq.setting AS s WHERE s.name = 'blob_store'), 'database') AS place),
there AS (
    SELECT coalesce(b.store, 'database') AS place, count(*)::int AS files, max(encode(b.sha256, 'hex')) AS digest
    FROM tq.blob AS b GROUP BY 1
)
SELECT coalesce(t.place, w.place), w.place IS NOT NULL, coalesce(t.files, 0), t.digest,
    (SELECT d.name FROM tq.document AS d WHERE d.sha256 = decode(t.digest, 'hex') LIMIT 1)
FROM there AS t FULL JOIN wanted AS w ON w.place = t.place ORDER BY 2 DESC, 1
"""


def stores_in_use(connection: psycopg.Connection[Any]) -> list[StoreInUse]:
    """Where new files go first, then wherever older ones are; none without tq."""
    if connection.execute("SELECT to_regclass('tq.blob')").fetchone() == (None,):
        return []
    return [StoreInUse(*row) for row in connection.execute(_STORES).fetchall()]


def _stores(stores: list[StoreInUse], seen: list[dict[str, Any]]) -> list[Finding]:
    answers = iter(seen)
    findings = []
    for store in stores:
        files = f"{store.files:,} {'file' if store.files == 1 else 'files'}"
        check = "files' bytes" if store.wanted else "older files"
        if store.place == "database":
            findings.append(ok(check, f"in the database: {files}"))
            continue
        answer = next(answers, None)
        if answer is None:
            continue
        name = store.document or store.digest
        if "error" in answer:
            told = f": {answer['detail']}" if answer["detail"] else ""
            read = f" (reading {name}, one of {files})" if store.files and not store.wanted else ""
            seen_there = f"{store.place}: {answer['error']}{told}{read}"
            findings.append(Finding(check, "fail", seen_there, answer["hint"] or "look at the store"))
            continue
        what = "can be written and read" if store.wanted else "can be read"
        if store.files:
            what += f", {name} too, one of {files}"
        findings.append(ok(check, f"{store.place} {what}"))
    return findings


def check_schema(connection: psycopg.Connection[Any]) -> list[Finding]:
    """The database against the files that this version carries."""
    from tq_loader.migrate import code_hash, head

    mend = "run `tq migrate`, as a superuser"
    there = connection.execute("SELECT to_regclass('tq_private.installed')").fetchone()
    if there == (None,):
        return [Finding("schema", "fail", "tq is not installed in this database", mend)]
    installed = dict(connection.execute("SELECT component, version FROM tq_private.installed").fetchall())
    row = connection.execute("SELECT version_num FROM tq_private.alembic_version").fetchone()
    revision, wanted = (row[0] if row else None), head()
    findings = []
    if revision != wanted:
        findings.append(
            Finding("schema", "fail", f"revision {revision}, this version carries {wanted}", mend)
        )
    elif installed.get("code") != code_hash():
        findings.append(
            Finding("schema", "warn", f"revision {revision}, with functions of another build", mend)
        )
    else:
        findings.append(ok("schema", f"revision {revision}, functions of this build"))
    from pgmq.install import get_embedded_sql_version

    carried = str(get_embedded_sql_version())
    queue = installed.get("pgmq", "none")
    if queue.split(" ")[0] == carried or "extension" in queue:
        findings.append(ok("queues", f"pgmq {queue}"))
    else:
        mend = "nothing to do: its SQL has no upgrade path, and what is there keeps working"
        findings.append(Finding("queues", "warn", f"pgmq {queue}, the package now carries {carried}", mend))
    return findings


def check_cron(connection: psycopg.Connection[Any]) -> list[Finding]:
    """pg_cron: loaded, in this database, its launcher alive, and what its last runs said."""
    preload = setting(connection, "shared_preload_libraries") or ""
    if "pg_cron" not in [name.strip().strip('"') for name in preload.split(",")]:
        mend = "set shared_preload_libraries = 'pg_cron' and restart; without it, run CALL tq.work() yourself"
        return [Finding("pg_cron", "warn", "not preloaded: nothing works by itself", mend)]
    home = setting(connection, "cron.database_name")
    database = connection.info.dbname
    if home != database:
        mend = f"set cron.database_name = '{database}' and restart; or use cron.schedule_in_database there"
        return [Finding("pg_cron", "warn", f"it lives in the database {home}, not in {database}", mend)]
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_cron'").fetchone() is None:
        return [
            Finding(
                "pg_cron",
                "fail",
                "preloaded, but not created in this database",
                "run `tq migrate`, as a superuser",
            )
        ]
    launcher = connection.execute(
        "SELECT 1 FROM pg_stat_activity"
        " WHERE backend_type = 'pg_cron launcher' OR application_name = 'pg_cron scheduler'"
    ).fetchone()
    if launcher is None:
        return [
            Finding("pg_cron", "fail", "its launcher does not run", "restart the server and read its log")
        ]
    findings = [ok("pg_cron", "loaded, in this database, launcher runs")]
    failed = connection.execute(
        "SELECT d.return_message FROM cron.job_run_details d JOIN cron.job j USING (jobid)"
        " WHERE j.command ~ 'tq\\.work' AND d.status = 'failed' AND d.start_time > now() - interval '1 hour'"
        " ORDER BY d.runid DESC LIMIT 1"
    ).fetchone()
    if failed is not None:
        first = (failed[0] or "no reason given").strip().splitlines()[0]
        findings.append(
            Finding(
                "pg_cron runs",
                "warn",
                f"one failed within the hour: {first}",
                "SELECT * FROM cron.job_run_details",
            )
        )
    return findings


def check_workers(connection: psycopg.Connection[Any]) -> list[Finding]:
    """Whether anything works through the queues, and whether the server lets it."""
    findings = []
    processes = int(setting(connection, "max_worker_processes") or 0)
    if processes < 4:
        mend = "set max_worker_processes = 8 or more, and restart"
        findings.append(Finding("worker processes", "warn", f"max_worker_processes is {processes}", mend))
    jobs = 0
    if connection.execute("SELECT to_regclass('cron.job')").fetchone() != (None,):
        row = connection.execute(
            "SELECT count(*) FROM cron.job"
            " WHERE active AND command ~ 'tq\\.work' AND database = current_database()"
        ).fetchone()
        jobs = row[0] if row else 0
    row = connection.execute(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        " AND state <> 'idle' AND query ~* 'call\\s+tq\\.work'"
    ).fetchone()
    running = row[0] if row else 0
    oldest = _oldest_minutes(connection)
    if jobs or running:
        findings.append(ok("workers", f"{jobs} scheduled, {running} running now"))
    elif oldest is not None and oldest >= STALE_MINUTES:
        mend = "SELECT tq.schedule();  or once: CALL tq.work(until_empty => true);"
        findings.append(
            Finding(
                "workers", "warn", f"none, and a document or a question has waited for {oldest} minutes", mend
            )
        )
    else:
        findings.append(
            ok(
                "workers",
                "none scheduled: documents are worked on by CALL tq.work(), or after SELECT tq.schedule()",
            )
        )
    return findings


def _oldest_minutes(connection: psycopg.Connection[Any]) -> int | None:
    """How long the oldest message that could be taken has waited, in minutes."""
    ages = []
    for queue in ("q_tq_convert", "q_tq_model", "q_tq_ask"):
        if connection.execute("SELECT to_regclass(%s)", [f"pgmq.{queue}"]).fetchone() == (None,):
            continue
        # The names are those above.
        row = connection.execute(
            f"SELECT extract(epoch FROM now() - min(enqueued_at)) / 60 FROM pgmq.{queue} WHERE vt <= now()"
        ).fetchone()
        if row and row[0] is not None:
            ages.append(int(row[0]))
    return max(ages, default=None)


def check_rights(connection: psycopg.Connection[Any]) -> list[Finding]:
    """Roles there, and nothing open to everyone."""
    mend = "run `tq migrate`, as a superuser: its last file sets every right anew"
    rows = connection.execute(
        "SELECT rolname, rolsuper FROM pg_roles WHERE rolname = ANY (%s)", [list(ROLES)]
    ).fetchall()
    there = dict(rows)
    missing = [role for role in ROLES if role not in there]
    if missing:
        return [Finding("rights", "fail", "no role " + ", ".join(missing), mend)]
    mighty = [role for role, superuser in there.items() if superuser]
    if mighty:
        return [
            Finding(
                "rights", "fail", f"superuser: {', '.join(mighty)}", f"ALTER ROLE {mighty[0]} NOSUPERUSER"
            )
        ]
    row = connection.execute(
        "SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace,"
        " LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a"
        " WHERE n.nspname IN ('tq', 'tq_private') AND a.grantee = 0 AND a.privilege_type = 'EXECUTE'"
    ).fetchone()
    if row and row[0]:
        return [Finding("rights", "fail", f"everyone may execute {row[0]} functions of tq", mend)]
    return [ok("rights", "roles are there, PUBLIC may execute nothing")]


DATABASE_CHECKS: tuple[Callable[[Any], list[Finding]], ...] = (
    check_schema,
    check_inside,
    check_cron,
    check_workers,
    check_rights,
)
