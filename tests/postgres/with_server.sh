#!/usr/bin/env bash
# Starts a PostgreSQL server of its own in a folder that is gone with it, and runs a command that finds it in
# SERIN_TEST_POSTGRES: with_server.sh COMMAND [ARGUMENT…]. A server that serves nobody else need not outlive a loss of power;
# one that is measured is to be as safe as others: SERIN_TEST_FSYNC=on.
set -euo pipefail
programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
folder=$(mktemp -d)
# It refuses to run as root.
own=()
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder"
    own=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
"${own[@]}" "$programs/initdb" --pgdata="$folder/data" --auth=trust --username=serin --encoding=UTF8 \
    --locale=C.UTF-8 --no-sync >/dev/null
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"${own[@]}" "$programs/postgres" -D "$folder/data" -c listen_addresses=127.0.0.1 -c port="$port" \
    -c unix_socket_directories="$folder" -c fsync="${SERIN_TEST_FSYNC:-off}" -c max_connections=300 >"$folder/log" 2>&1 &
server=$!
trap 'kill -INT $server; wait $server || true; rm -rf "$folder"' EXIT
until "$programs/pg_isready" --quiet --host=127.0.0.1 --port="$port"; do
    kill -0 $server || { cat "$folder/log"; exit 1; }
    sleep 0.1
done
SERIN_TEST_POSTGRES="postgres://serin@127.0.0.1:$port" "$@"
