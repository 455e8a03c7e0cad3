#!/usr/bin/env bash
# A throw-away PostgreSQL server for tests: scripts/postgres.sh start | stop FOLDER | kill FOLDER | restart FOLDER
#   start    installs Debian's package where the programs are missing (as root), makes a server in a new temporary
#            folder and prints that folder; FOLDER/url holds the address of its superuser, FOLDER/port its port on 127.0.0.1
#   stop     ends the server and removes the folder
#   kill     ends every process of the server at once (SIGKILL)
#   restart  starts a killed server again on the same data
# The server runs as a user without privileges (postgres, where root calls) and listens on loopback only.
# Exit code 3: the programs are missing and cannot be installed.
set -euo pipefail

programs() {
  local found
  for found in "$(command -v pg_ctl 2>/dev/null)" /usr/lib/postgresql/*/bin/pg_ctl /usr/pgsql-*/bin/pg_ctl; do
    if [ -n "$found" ] && [ -x "$found" ]; then
      dirname "$(readlink -f "$found")"
      return
    fi
  done
}

as_server() { # the given command as the server's user, from a folder that it may enter
  if [ "$(id -u)" = 0 ]; then
    (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@")
  else
    (cd / && "$@")
  fi
}

# Without fsync: what a killed process wrote the system still holds, and the tests cut no power.
launch() { # FOLDER
  as_server "$bin/pg_ctl" start --silent --wait --timeout 60 -D "$1/data" -l "$1/server.log" >/dev/null \
    -o "-c listen_addresses=127.0.0.1 -c port=$(cat "$1/port") -c unix_socket_directories=$1 -c max_connections=60 -c fsync=off"
}

bin=$(programs)
if [ -z "$bin" ] && [ "${1:-}" = start ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "postgres: no server programs found; installing Debian's postgresql" >&2
  # Without the package's own server: the tests start theirs.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql; } >/dev/null 2>&1 || true
  bin=$(programs)
fi
if [ -z "$bin" ]; then
  echo "postgres: the server programs must be installed (Debian: apt-get install postgresql), found none" >&2
  exit 3
fi

case "${1:-}" in
  start)
    umask 077
    folder=$(mktemp -d "${TMPDIR:-/tmp}/dplib-postgres-XXXXXX")
    password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    echo "$password" >"$folder/password"
    [ "$(id -u)" != 0 ] || chown -R postgres:postgres "$folder"
    as_server "$bin/initdb" -D "$folder/data" -U admin --auth=scram-sha-256 --pwfile="$folder/password" --no-sync \
      --encoding=UTF8 --locale=C >/dev/null
    for _ in 1 2 3 4 5; do # another process may take the port between the choice and the start
      echo $((20000 + $(od -An -N2 -tu2 /dev/urandom) % 10000)) >"$folder/port"
      if launch "$folder"; then
        echo "postgresql://admin:$password@127.0.0.1:$(cat "$folder/port")/postgres" >"$folder/url"
        echo "$folder"
        exit 0
      fi
    done
    echo "postgres: the server must start, got none ($folder/server.log)" >&2
    exit 1
    ;;
  stop)
    as_server "$bin/pg_ctl" stop --silent --mode immediate -D "$2/data" >/dev/null 2>&1 || true
    rm -rf "$2"
    ;;
  kill)
    server=$(head -n 1 "$2/data/postmaster.pid")
    mapfile -t family < <(echo "$server"; pgrep --parent "$server")
    kill -KILL "${family[@]}" 2>/dev/null || true
    for process in "${family[@]}"; do
      while kill -0 "$process" 2>/dev/null; do sleep 0.05; done
    done
    ;;
  restart)
    rm -f "$2/data/postmaster.pid"
    launch "$2"
    ;;
  *)
    sed -n '2,9p' "$0" >&2
    exit 2
    ;;
esac
