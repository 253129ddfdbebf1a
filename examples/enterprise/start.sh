#!/usr/bin/env bash
# All of it on this machine, to try: a primary, its synchronous standby, and three Serins that share the fleet. It ends all of
# them when it is ended (Ctrl-C). From the environment:
#
#   SERIN     the program; `serin`
#   PROGRAMS  PostgreSQL's; the newest of /usr/lib/postgresql
#   PORTS     of the primary, the standby and the three Serins; 15432 15433 8081 8082 8083
#   FOLDER    made for their data and logs, and kept; where none is named, one that is gone with it
#
# The secrets of monitors.yaml are made up where they are not set.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
serin=${SERIN:-serin}
programs=${PROGRAMS:-$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)}
read -r primary_port standby_port serin_ports <<<"${PORTS:-15432 15433 8081 8082 8083}"

serins=() primary='' standby='' gone_with_it=''
# Serins first, which end in order; then the primary, which waits until the standby has all of it.
finish() {
    trap '' INT TERM
    [ ${#serins[@]} = 0 ] || { kill -TERM "${serins[@]}" 2>/dev/null; wait "${serins[@]}"; } || true
    [ -z "$primary" ] || { kill -INT "$primary" 2>/dev/null; wait "$primary"; } || true
    [ -z "$standby" ] || { kill -INT "$standby" 2>/dev/null; wait "$standby"; } || true
    [ -z "$gone_with_it" ] || rm -rf "$gone_with_it"
}
trap finish EXIT
trap 'exit 0' INT TERM

if [ -n "${FOLDER:-}" ]; then
    mkdir "$FOLDER"
    folder=$(cd "$FOLDER" && pwd)
else
    folder=$(mktemp -d)
    gone_with_it=$folder
fi
chmod 700 "$folder"
# PostgreSQL refuses to run as root, and its clients may not read what is root's.
own=()
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder"
    own=(env HOME="$folder" setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
made_up=$([ -n "${SERIN_TOKEN:-}" ] || echo yes)
secret() { openssl rand -hex 24; }
replication_password=$(secret)
export SERIN_DB_PASSWORD=${SERIN_DB_PASSWORD:-$(secret)} SERIN_TOKEN=${SERIN_TOKEN:-$(secret)}
export ONCALL_URL=${ONCALL_URL:-https://oncall.invalid/} ONCALL_SECRET=${ONCALL_SECRET:-$(secret)}
export SERIN_DB_HOSTS="127.0.0.1:$primary_port,127.0.0.1:$standby_port" SERIN_DB_CA="$folder/primary/server.crt"

# serve NAME PORT: starts a server on its data; its id is in $!.
serve() {
    "${own[@]}" "$programs/postgres" -D "$folder/$1" -c listen_addresses=127.0.0.1 -c port="$2" \
        -c unix_socket_directories="$folder" >"$folder/$1.log" 2>&1 &
}
# Ends where the server NAME, process ID, has ended: its log says why.
lives() { kill -0 "$2" 2>/dev/null || { cat "$folder/$1.log" >&2; exit 1; }; }
# answers NAME PORT ID: waits until it does.
answers() {
    until "$programs/pg_isready" --quiet --host=127.0.0.1 --port="$2"; do
        lives "$1" "$3"
        sleep 0.1
    done
}
# Asks the primary as its owner. What is made before there is a standby waits for none.
ask() {
    PGOPTIONS='-c synchronous_commit=local' "${own[@]}" "$programs/psql" --no-psqlrc --quiet --tuples-only --no-align \
        --set=ON_ERROR_STOP=1 --host="$folder" --port="$primary_port" --username=postgres --dbname=postgres
}

"${own[@]}" "$programs/initdb" --pgdata="$folder/primary" --username=postgres --auth=reject --encoding=UTF8 \
    --locale=C.UTF-8 >/dev/null
# Each may do what it is for, encrypted; the owner comes by the socket, which lies in a folder that is nobody else's.
"${own[@]}" tee "$folder/primary/pg_hba.conf" >/dev/null <<'HBA'
local    all          postgres                   trust
hostssl  serin        serin       127.0.0.1/32   scram-sha-256
hostssl  replication  replicator  127.0.0.1/32   scram-sha-256
HBA
"${own[@]}" openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=serin-example -addext subjectAltName=IP:127.0.0.1 \
    -addext basicConstraints=critical,CA:FALSE -keyout "$folder/primary/server.key" -out "$folder/primary/server.crt" 2>/dev/null
"${own[@]}" tee "$folder/primary/serin.conf" <"$here/primary.conf" >/dev/null
echo "include 'serin.conf'" | "${own[@]}" tee --append "$folder/primary/postgresql.conf" >/dev/null
serve primary "$primary_port"
primary=$!
answers primary "$primary_port" "$primary"
ask <<SQL
CREATE ROLE serin LOGIN PASSWORD '$SERIN_DB_PASSWORD';
CREATE ROLE replicator LOGIN REPLICATION PASSWORD '$replication_password';
CREATE DATABASE serin OWNER serin ENCODING 'UTF8';
REVOKE ALL ON DATABASE serin FROM PUBLIC;
SQL

# A copy of the primary, which knows whom to follow.
PGPASSWORD=$replication_password "${own[@]}" "$programs/pg_basebackup" --pgdata="$folder/standby" --write-recovery-conf \
    --checkpoint=fast --create-slot --slot=db2 \
    --dbname="host=127.0.0.1 port=$primary_port user=replicator sslmode=verify-full sslrootcert=$SERIN_DB_CA"
"${own[@]}" tee "$folder/standby/serin.conf" <"$here/standby.conf" >/dev/null
serve standby "$standby_port"
standby=$!
answers standby "$standby_port" "$standby"
until [ "$(ask <<<"SELECT application_name FROM pg_stat_replication WHERE sync_state = 'sync'")" = db2 ]; do
    lives standby "$standby"
    sleep 0.1
done
echo "the standby has what the primary has, both in $folder"

for port in $serin_ports; do
    SERIN_LISTEN="127.0.0.1:$port" "$serin" run "$here/monitors.yaml" >"$folder/serin-$port.log" 2>&1 &
    serins+=($!)
    echo "serin at http://127.0.0.1:$port is process $!"
done
[ -z "$made_up" ] || echo "the token is $SERIN_TOKEN"
# Of one that ends alone the others take over: all the others are waited for.
wait
