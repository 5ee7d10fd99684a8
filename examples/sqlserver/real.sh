#!/bin/sh
# Runs the conformance suite and the lab on a real SQL Server, in containers:
#
#   ACCEPT_EULA=Y ./real.sh             # an availability group of three servers
#   ACCEPT_EULA=Y ./real.sh single      # one server, and no group
#   ./real.sh down                      # ends them, with their data
#
# And for a person, while they run:
#
#   ./real.sh env                       # the variables that name the servers, for eval
#   ./real.sh sql sql2 'SELECT 1'       # a statement on one of them
#   ./real.sh failover sql1 sql2        # a planned failover from the first to the second
#
# It was never run by those who wrote it, who have no SQL Server: it is checked as far as
# that goes without one (script_test.go). It needs docker with the compose plugin, Go and
# make, and 6 GB of memory. The image is under a licence of its own, which you accept by
# setting ACCEPT_EULA=Y; this script does not do that for you.
#
# The servers stay up when it ends, so that what went wrong can be looked at.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
secret=$here/.sa-password
group=readsplit
database=shop

fail() {
	echo "real.sh: $*" >&2
	exit 1
}

# The password is made once, and kept for as long as the servers are. Its characters need
# no quotes in a DSN, in T-SQL and in a shell.
if [ ! -s "$secret" ]; then
	(umask 077 && printf 'Aa1-%s' "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >"$secret")
fi
MSSQL_SA_PASSWORD=$(cat "$secret")
ACCEPT_EULA=${ACCEPT_EULA-}
export MSSQL_SA_PASSWORD ACCEPT_EULA

compose() { docker compose -p readsplit-sqlserver -f "$here/compose.yml" --profile group "$@"; }

# sqlcmd SERVER ARGUMENT...: ends with 1 after an error of the server (-b).
# shellcheck disable=SC2016 # the shell in the container expands them
sqlcmd() {
	server=$1
	shift
	compose exec -T "$server" sh -c '
		tools=/opt/mssql-tools18/bin/sqlcmd trust=-C
		[ -x "$tools" ] || tools=/opt/mssql-tools/bin/sqlcmd trust=
		exec "$tools" $trust -S localhost -U sa -P "$MSSQL_SA_PASSWORD" -b -v PASSWORD="$MSSQL_SA_PASSWORD" "$@"
	' sqlcmd "$@"
}

# ask SERVER STATEMENT: the result alone, without a heading.
ask() { sqlcmd "$1" -h -1 -W -Q "SET NOCOUNT ON; $2"; }

# batches SERVER FILE: the statements of a file in group/.
batches() {
	echo "real.sh: $1: group/$2" >&2
	sqlcmd "$1" <"$here/group/$2" # which reads what it is to do from there
}

# until_is WHAT WANT COMMAND...: waits until the command says so, at most 3 minutes.
until_is() {
	what=$1 want=$2
	shift 2
	tries=90
	while got=$("$@" 2>&1 | tr -d '\r'); [ "$got" != "$want" ]; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || fail "waited in vain until $what is $want; it is: $got"
		sleep 2
	done
}

# dsn PORT DATABASE [INTENT]: a SQL Server in a container has a certificate that it made itself,
# which Go refuses now and then (a negative serial number), so that nothing is encrypted.
dsn() { printf 'sqlserver://sa:%s@127.0.0.1:%s?database=%s&encrypt=disable%s' "$MSSQL_SA_PASSWORD" "$1" "$2" "${3-}"; }

# There is no listener in a group without a cluster manager: sql1 is the primary.
names() {
	READSPLIT_PRIMARY=$(dsn "${SQL1_PORT:-14331}" "$database")
	READSPLIT_REPLICAS='' READSPLIT_SQLSERVER_ADMIN_REPLICAS=''
	if [ "$1" = group ]; then
		READSPLIT_REPLICAS="sql2=$(dsn "${SQL2_PORT:-14332}" "$database" '&ApplicationIntent=ReadOnly')
sql3=$(dsn "${SQL3_PORT:-14333}" "$database" '&ApplicationIntent=ReadOnly')"
		# Where the suite may suspend data movement.
		READSPLIT_SQLSERVER_ADMIN_REPLICAS="sql2=$(dsn "${SQL2_PORT:-14332}" master)
sql3=$(dsn "${SQL3_PORT:-14333}" master)"
	fi
	READSPLIT_SQLSERVER_PRIMARY=$READSPLIT_PRIMARY
	READSPLIT_SQLSERVER_REPLICAS=$READSPLIT_REPLICAS
	export READSPLIT_PRIMARY READSPLIT_REPLICAS READSPLIT_SQLSERVER_PRIMARY READSPLIT_SQLSERVER_REPLICAS READSPLIT_SQLSERVER_ADMIN_REPLICAS
}

start() {
	[ "$ACCEPT_EULA" = Y ] || fail 'the SQL Server image is under a licence of its own: set ACCEPT_EULA=Y if you accept it (https://go.microsoft.com/fwlink/?LinkId=746388)'
	docker compose version >/dev/null 2>&1 || fail 'docker with its compose plugin is needed'
	compose up -d --wait "$@"
}

exists() { ask sql1 "SELECT COUNT(*) FROM $1 WHERE name = '$2'" | tr -d '\r'; }

make_database() {
	[ "$(exists sys.databases "$database")" = 1 ] || batches sql1 database.sql
}

make_group() {
	[ "$(exists sys.availability_groups "$group")" = 0 ] || return 0
	# The servers run as mssql, and a new volume is root's.
	compose exec -T -u root sql1 chown mssql /certificates
	batches sql1 certificate.sql
	batches sql2 certified.sql
	batches sql3 certified.sql
	for server in sql1 sql2 sql3; do
		batches "$server" endpoint.sql
	done
	batches sql1 group.sql
	batches sql2 join.sql
	batches sql3 join.sql
	batches sql1 add.sql
}

# synchronized SERVER: what the primary says of the database there.
synchronized() {
	ask sql1 "SELECT s.synchronization_state_desc FROM sys.dm_hadr_database_replica_states AS s JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id WHERE r.replica_server_name = '$1'"
}

# measure: everything that can be asked of the servers that are named. The first failure
# does not end it: one run tells everything.
measure() {
	failed=
	(cd "$root" && go run ./cmd/readsplit doctor) || failed="$failed doctor"
	(cd "$root" && make conformance-sqlserver) || failed="$failed conformance"
	if [ -n "$READSPLIT_REPLICAS" ]; then
		(cd "$root" && make sqlserver) || failed="$failed lab"
	fi
	[ -z "$failed" ] || fail "failed:$failed"
}

# failover FROM TO: as the documentation of read-scale groups says, without loss.
failover() {
	sqlcmd "$1" -Q "ALTER AVAILABILITY GROUP $group SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1)"
	sqlcmd "$1" -Q "ALTER AVAILABILITY GROUP $group SET (ROLE = SECONDARY)"
	sqlcmd "$2" -Q "ALTER AVAILABILITY GROUP $group FORCE_FAILOVER_ALLOW_DATA_LOSS"
	for server in sql1 sql2 sql3; do
		[ "$server" = "$2" ] || sqlcmd "$server" -Q "ALTER DATABASE $database SET HADR RESUME"
	done
}

case ${1-group} in
group)
	start sql1 sql2 sql3
	make_database
	make_group
	for server in sql2 sql3; do
		until_is "the database on $server" SYNCHRONIZED synchronized "$server"
	done
	names group
	measure
	;;
single)
	start sql1
	make_database
	names single
	measure
	;;
down)
	compose down -v
	rm -f "$secret"
	;;
env)
	names group
	for name in READSPLIT_PRIMARY READSPLIT_REPLICAS READSPLIT_SQLSERVER_PRIMARY READSPLIT_SQLSERVER_REPLICAS READSPLIT_SQLSERVER_ADMIN_REPLICAS; do
		eval "value=\$$name"
		# shellcheck disable=SC2154 # eval sets it
		printf "export %s='%s'\n" "$name" "$value"
	done
	;;
sql)
	[ $# -eq 3 ] || fail 'real.sh sql SERVER STATEMENT'
	sqlcmd "$2" -d "$database" -K ReadOnly -Q "$3"
	;;
failover)
	[ $# -eq 3 ] || fail 'real.sh failover FROM TO'
	failover "$2" "$3"
	;;
*) fail "$1 is none of group, single, down, env, sql and failover" ;;
esac
