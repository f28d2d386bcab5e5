#!/usr/bin/env bash
# Installs what Braid's tests need and a bare Debian machine lacks. It does nothing
# where everything is there already, and needs root or sudo only where it installs.
#
# Each need is a line of the table below: the program, or the path of a file, that shows
# that the need is met, and the Debian package that brings it. The tests start their servers themselves,
# so a service that a package starts is ended.
set -euo pipefail

needs=(
  "gcc gcc"          # the race detector links through a C compiler
  "git git"          # go mod and the checks of formatting list the files
  "curl curl"        # the commands of the page about the HTTP API are run as a test
  "python3 python3"  # the worker in Python is run as a test
  "redis-server redis-server" # the tests of the Redis store start it on free ports
  "postgres postgresql"       # the tests of the Postgres store start it on free ports
  "pgbouncer pgbouncer"       # one of them goes through a pooler
  "chromium chromium"             # the pages of the dashboard are used in a real browser
  "chromedriver chromium-driver"  # which the tests drive
  "/usr/share/bash-completion/bash_completion bash-completion" # the program's completion is used in a real shell
)

# has reports whether a program or a file is installed. Debian keeps those of Postgres off the PATH.
has() {
  command -v "$1" >/dev/null 2>&1 || [ -e "$1" ] || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null
}

missing=()
for need in "${needs[@]}"; do
  read -r program package <<<"$need"
  has "$program" || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || {
    echo "tools/setup.sh: missing ${missing[*]}; install them, or run this as root" >&2
    exit 1
  }
  as_root=(sudo)
fi
command -v apt-get >/dev/null 2>&1 || {
  echo "tools/setup.sh: missing ${missing[*]}; install them with this system's package manager" >&2
  exit 1
}
echo "tools/setup.sh: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
if [[ " ${missing[*]} " == *" postgresql "* ]] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
  # The package makes a cluster, and starts it, unless it is told not to.
  "${as_root[@]}" mkdir -p /etc/postgresql-common
  echo "create_main_cluster = false" | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null

for package in "${missing[@]}"; do
  case "$package" in
    redis-server | postgresql | pgbouncer)
      if [ -d /run/systemd/system ]; then
        "${as_root[@]}" systemctl disable --now --quiet "$package" || true
      else
        "${as_root[@]}" service "$package" stop >/dev/null 2>&1 || true
      fi
      ;;
  esac
done
