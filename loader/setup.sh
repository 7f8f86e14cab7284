#!/usr/bin/env bash
# Installs what is missing and keeps the virtual environment up to date with this checkout.
#
#   loader/setup.sh [--dev]      --dev adds the tools for tests and lint
#   loader/setup.sh --home       prints the state directory of this checkout, does nothing
#   loader/setup.sh --clean      stops and deletes this checkout's clusters and virtual environment
#
# Environment: TQ_HOME (the state directory), TQ_PG_MAJOR (the server's major version).
# Safe to run any number of times; with nothing to do it only compares two hashes.
set -euo pipefail
umask 022  # the server's account has to read the virtual environment

readonly oldest_major=15
readonly pg_root=/usr/lib/postgresql

checkout=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)

say() { printf 'set-up: %s\n' "$*"; }

fail() {  # step, why, what to do
    printf 'tq set-up failed at "%s": %s\n  what to do: %s\n' "$1" "$2" "$3" >&2
    exit 1
}

state_home() {
    if [ -n "${TQ_HOME:-}" ]; then
        case $TQ_HOME in
            /*) printf '%s\n' "${TQ_HOME%/}" ;;
            *) fail "state directory" "TQ_HOME=$TQ_HOME is not an absolute path" "give a path that begins with /" ;;
        esac
        return
    fi
    local name hash base
    name=$(basename -- "$checkout" | LC_ALL=C tr -c 'A-Za-z0-9._\n-' '_' | cut -c1-40)
    hash=$(printf '%s' "$checkout" | sha256sum | cut -c1-8)
    if [ "$(id -u)" -eq 0 ]; then
        base=/var/lib/tq
    else
        base=${XDG_DATA_HOME:-${HOME:?}/.local/share}/tq
    fi
    printf '%s/%s-%s\n' "$base" "$name" "$hash"
}

# Works without the virtual environment, and touches nothing that set-up did not make: TQ_HOME may be any directory.
clean() {
    local instance pid sockets
    if [ ! -e "$home" ]; then say "nothing to clean: $home does not exist"; return; fi
    [ "$(cat -- "$home/checkout" 2>/dev/null)" = "$checkout" ] ||
        fail "clean" "$home is not the state directory of this checkout" "look at $home/checkout; nothing was deleted"
    for instance in "$home"/*/; do
        instance=${instance%/}
        [ -f "$instance/port" ] || continue
        pid=$(head -n 1 -- "$instance/data/postmaster.pid" 2>/dev/null || true)
        # A server's working directory is its data directory: no other process is ever hit.
        if [ -n "$pid" ] && [ "$(readlink -- "/proc/$pid/cwd" 2>/dev/null)" = "$(readlink -f -- "$instance/data")" ]; then
            kill -INT "$pid" || fail "clean" "server $pid of $instance cannot be stopped" "stop it, then run make clean again"
            timeout 60 tail --pid="$pid" -f /dev/null || fail "clean" "server $pid of $instance does not stop" "see $instance/log"
        fi
        sockets=$(sed -n "s/^unix_socket_directories = '\"\(.*\)\"'$/\1/p" "$instance/data/tq.conf" 2>/dev/null || true)
        case $sockets in /tmp/tq-* | /run/tq-*) rm -rf -- "$sockets" ;; esac
        rm -rf -- "$instance"
        say "deleted $instance"
    done
    rm -rf -- "$home/venv" "$home"/.*.lock "$home/.ocr-tried" "$home/server" "$home/checkout"
    say "deleted $home/venv"
    rmdir -- "$home" 2>/dev/null || say "left $home, which holds other files"
    if [ "$(readlink -- "$checkout/.venv" 2>/dev/null)" = "$home/venv" ]; then rm -f -- "$checkout/.venv"; fi
}

home=$(state_home)
dev=no
for argument in "$@"; do
    case $argument in
        --home) printf '%s\n' "$home"; exit 0 ;;
        --clean) clean; exit 0 ;;
        --dev) dev=yes ;;
        *) printf 'usage: loader/setup.sh [--dev | --home | --clean]\n' >&2; exit 2 ;;
    esac
done

# ---- Debian packages ------------------------------------------------------------------------------------

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif ! command -v sudo >/dev/null 2>&1; then
        return 126
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

may_install() { [ "$(id -u)" -eq 0 ] || as_root true 2>/dev/null; }

apt_install() {  # step, packages…
    local step=$1 log
    shift
    command -v apt-get >/dev/null 2>&1 ||
        fail "$step" "missing: $*; and this is not a Debian system" "install them by this system's own means, then run make up again"
    if ! may_install; then
        fail "$step" "missing: $*; and installing them takes root" \
            "as root: apt-get install --no-install-recommends $*  (then run make up again)"
    fi
    say "installing $* (as root)"
    log=$(mktemp)
    local -a get=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0)
    if ! as_root "${get[@]}" install --no-install-recommends "$@" >"$log" 2>&1; then
        # Package lists that are missing or old name files that are gone: fetch them, try once more.
        as_root "${get[@]}" update >>"$log" 2>&1 || true
        if ! as_root "${get[@]}" install --no-install-recommends "$@" >>"$log" 2>&1; then
            tail -n 15 "$log" >&2
            rm -f "$log"
            fail "$step" "apt-get could not install $*" "read the lines above; then: apt-get update && apt-get install $*"
        fi
    fi
    rm -f "$log"
}

has_server() { [ -x "$pg_root/$1/bin/postgres" ] && [ -x "$pg_root/$1/bin/initdb" ]; }
has_plpython() { [ -e "$pg_root/$1/lib/plpython3.so" ]; }
has_cron() { [ -e "$pg_root/$1/lib/pg_cron.so" ]; }

newest_installed() {  # the newest installed major; with "whole" only one that has everything
    local folder major
    for folder in "$pg_root"/*/; do
        major=$(basename -- "$folder")
        case $major in '' | *[!0-9]*) continue ;; esac
        if [ "$major" -lt "$oldest_major" ] || ! has_server "$major"; then continue; fi
        if [ "${1:-}" = whole ] && ! { has_plpython "$major" && has_cron "$major"; }; then continue; fi
        printf '%s\n' "$major"
    done | sort -n | tail -n 1
}

newest_installable() {  # the newest major whose three packages apt knows
    local major best=''
    local known
    known=$(apt-cache pkgnames postgresql- 2>/dev/null || true)
    while read -r major; do
        [ "$major" -ge "$oldest_major" ] || continue
        grep -qx "postgresql-plpython3-$major" <<<"$known" || continue
        grep -qx "postgresql-$major-cron" <<<"$known" || continue
        best=$major
    done < <(sed -n 's/^postgresql-\([0-9]\{2,3\}\)$/\1/p' <<<"$known" | sort -n)
    printf '%s\n' "$best"
}

choose_major() {
    local major
    # A cluster stays with the server that made it.
    if [ -r "$home/server" ]; then cat "$home/server"; return; fi
    if [ -n "${TQ_PG_MAJOR:-}" ]; then printf '%s\n' "$TQ_PG_MAJOR"; return; fi
    # One that has everything needs no package at all, so it goes before a newer one that would be fetched.
    major=$(newest_installed whole)
    if [ -z "$major" ]; then major=$(newest_installable); fi
    if [ -z "$major" ] && command -v apt-get >/dev/null 2>&1; then
        as_root apt-get -q update >/dev/null 2>&1 || true
        major=$(newest_installable)
    fi
    if [ -z "$major" ]; then major=$(newest_installed); fi
    printf '%s\n' "$major"
}

ensure_server() {
    local -a missing=()
    has_server "$major" || missing+=("postgresql-$major")
    has_plpython "$major" || missing+=("postgresql-plpython3-$major")
    has_cron "$major" || missing+=("postgresql-$major-cron")
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! may_install; then
        # Whoever is asked to install these is asked once.
        /usr/bin/python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || missing+=(python3-venv)
        apt_install "Debian packages" "${missing[@]}"
    fi
    # Debian's server package makes and starts a cluster on 5432. Where nobody has PostgreSQL yet, nobody asked
    # for one: tq makes its own. Where the machine has its own, its settings are left as they are.
    if ! has_server "$major" && command -v dpkg-query >/dev/null 2>&1 &&
        ! dpkg-query -W -f='${Status}' postgresql-common 2>/dev/null | grep -q 'ok installed'; then
        apt_install "Debian packages" postgresql-common
        as_root sh -c 'printf "\n# set when tq was installed; it makes a cluster of its own\ncreate_main_cluster = false\n" \
            >>/etc/postgresql-common/createcluster.conf'
    fi
    apt_install "Debian packages" "${missing[@]}"
}

find_python() {  # an interpreter of the version $1, such as python3.11
    local candidate
    for candidate in /usr/bin/python3 "/usr/bin/$1"; do
        [ -x "$candidate" ] || continue
        if [ "$("$candidate" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')" = "$1" ]; then
            printf '%s\n' "$candidate"
            return
        fi
    done
}

ensure_python() {  # sets python: the interpreter that this server's plpython3 is linked against, able to make a venv
    local version
    version=$(ldd "$pg_root/$major/lib/plpython3.so" 2>/dev/null | grep -o 'libpython3\.[0-9]*' | head -n 1 | cut -c4-) || true
    [ -n "$version" ] || fail "server's Python" "cannot tell which Python $pg_root/$major/lib/plpython3.so is linked against" \
        "look at: ldd $pg_root/$major/lib/plpython3.so"
    python=$(find_python "$version")
    if [ -z "$python" ] || ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        apt_install "server's Python" "$version-venv"
        python=$(find_python "$version")
    fi
    [ -n "$python" ] || fail "server's Python" "plpython3 of PostgreSQL $major runs $version, which is not in /usr/bin" \
        "as root: apt-get install $version-venv  (then run make up again)"
}

ensure_ocr() {  # reading pictures and scanned pages is optional: without it they are told as not read
    local tried=$home/.ocr-tried
    command -v tesseract >/dev/null 2>&1 && return 0
    # A try that failed is not made again before a day has passed.
    [ -z "$(find "$tried" -mtime -1 2>/dev/null)" ] || return 0
    touch -- "$tried" 2>/dev/null || true
    if (apt_install "reading pictures" tesseract-ocr tesseract-ocr-osd) 2>/dev/null; then return 0; fi
    say "note: pictures and scanned pages cannot be read (as root: apt-get install tesseract-ocr tesseract-ocr-osd)"
}

# ---- hashes: what the environment was made from ---------------------------------------------------------

code_hash() {
    (cd -- "$checkout" && find pyproject.toml plpython loader sql migrations -type f \
        -not -path '*/__pycache__/*' -not -name '.*' -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum -- | sha256sum | cut -d' ' -f1)
}

deps_hash() { { cat -- "$checkout/pyproject.toml"; printf '%s %s\n' "$python" "$dev"; } | sha256sum | cut -d' ' -f1; }

same() { [ -r "$1" ] && [ "$(cat -- "$1")" = "$2" ]; }

# ---- the steps ------------------------------------------------------------------------------------------

major=$(choose_major)
case $major in
    '') fail "server" "no PostgreSQL $oldest_major or newer is installed, and apt knows none with plpython3 and pg_cron" \
            "as root: apt-get update (with Debian's own package sources), then make up again" ;;
    *[!0-9]*) fail "server" "\"$major\" is not a major version of PostgreSQL" "set TQ_PG_MAJOR to a number such as 15, or unset it" ;;
esac
[ "$major" -ge "$oldest_major" ] || fail "server" "PostgreSQL $major is too old" "tq needs $oldest_major or newer"
if [ -d "$home/main/data" ] && ! has_server "$major"; then
    fail "server" "the cluster in $home was made by PostgreSQL $major, which is no longer installed" \
        "install postgresql-$major again; or make clean, and load the documents anew"
fi
ensure_server
ensure_python

mkdir -p -- "$home" 2>/dev/null ||
    fail "state directory" "$home cannot be made" "set TQ_HOME to a directory that you may write"
[ -w "$home" ] || fail "state directory" "$home cannot be written" "set TQ_HOME to a directory that you may write"

exec 9>"$home/.setup.lock"
flock 9
ensure_ocr

venv=$home/venv
if [ "$(cat -- "$home/server" 2>/dev/null)" != "$major" ]; then printf '%s\n' "$major" >"$home/server"; fi
if [ "$(cat -- "$home/checkout" 2>/dev/null)" != "$checkout" ]; then printf '%s\n' "$checkout" >"$home/checkout"; fi

wanted_code=$(code_hash)
wanted_deps=$(deps_hash)
# With the tools for tests there, a plain set-up has nothing to add.
deps_stamp=$venv/.tq-deps-$dev
if [ "$dev" = no ] && [ -r "$venv/.tq-deps-yes" ]; then
    deps_stamp=$venv/.tq-deps-yes
    dev=yes
    wanted_deps=$(deps_hash)
fi

# A virtual environment of another Python, or one left half made, is made anew.
if [ -d "$venv" ] && ! "$venv/bin/python" -c "import sys, pip; sys.exit(sys.version_info[:2] != tuple(map(int, '$(
    "$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')'.split('.'))))" 2>/dev/null; then
    say "the virtual environment is not of $python: making it anew"
    rm -rf -- "$venv"
fi
if [ ! -d "$venv" ]; then
    say "making the virtual environment with $python"
    "$python" -m venv "$venv" || fail "virtual environment" "$python -m venv failed" "see above; then remove $venv and run make up again"
fi

pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input)

pip_install() {  # on a terminal with what pip does now, on one line; else without a word
    if [ ! -t 1 ]; then "${pip[@]}" -qq install "$@"; return; fi
    local line said
    said=$(mktemp)
    "${pip[@]}" install --progress-bar off "$@" 2>"$said" | while IFS= read -r line; do printf '\r\033[K  %.76s' "$line"; done
    local -a result=("${PIPESTATUS[@]}")
    printf '\r\033[K'
    [ "${result[0]}" -eq 0 ] || cat -- "$said" >&2
    rm -f -- "$said"
    return "${result[0]}"
}

if ! same "$deps_stamp" "$wanted_deps"; then
    if [ -d "$venv/lib" ] && [ -r "$venv/.tq-code" ]; then
        say "installing Python packages"
    else
        say "installing Python packages (a minute or two where they have to be fetched)"
    fi
    mapfile -t requirements < <("$venv/bin/python" - "$checkout/pyproject.toml" "$dev" <<'PY'
import sys, tomllib
with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)
wanted = project["build-system"]["requires"] + project["project"]["dependencies"]
if sys.argv[2] == "yes":
    wanted += project["project"]["optional-dependencies"]["dev"]
print("\n".join(wanted))
PY
    )
    pip_install "${requirements[@]}" ||
        fail "Python packages" "pip could not install what pyproject.toml names" "see above: most often the network or the index; then run make up again"
    printf '%s\n' "$wanted_deps" >"$deps_stamp"
fi
if ! same "$venv/.tq-code" "$wanted_code"; then
    say "installing tq into $venv"
    rm -f -- "$venv/.tq-code"
    # Not editable: the account that runs the server may not be able to read the checkout.
    (cd -- "$checkout" && pip_install --no-deps --no-build-isolation --force-reinstall .) ||
        fail "install tq" "pip could not install this checkout" "see above; it is the tree that does not build"
    printf '%s\n' "$wanted_code" >"$venv/.tq-code"
fi

if [ "$(readlink -- "$checkout/.venv" 2>/dev/null)" != "$venv" ]; then
    ln -sfn -- "$venv" "$checkout/.venv" 2>/dev/null || say "note: no .venv link in $checkout (it cannot be written)"
fi
