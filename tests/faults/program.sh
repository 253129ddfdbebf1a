#!/bin/sh
# A small MCP server over standard input and output, for tests/faults/programs.rs. The first argument says how it is
# wrong; LOG, where set, gets a line for each start and each message.
mode="$1"
[ -n "$LOG" ] && echo "start $$" >>"$LOG"
say() { printf '%s\n' "$1"; }
result() { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
error() { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":$1,\"message\":\"no\"}}"; }
marks='"resultType":"complete","ttlMs":0,"cacheScope":"private"'
[ "$mode" = banner ] && say "Welcome to the server"
[ "$mode" = stubborn ] && trap '' TERM
[ "$mode" = family ] && { sleep 300 & [ -n "$LOG" ] && echo "child $!" >>"$LOG"; }
[ "$mode" = chatty ] && { i=0; while [ $i -lt 3000 ]; do echo "noise noise noise noise noise $i" >&2; i=$((i + 1)); done; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    method=$(printf '%s' "$line" | sed -n 's/.*"method":"\([^"]*\)".*/\1/p')
    [ -n "$LOG" ] && echo "$method" >>"$LOG"
    case "$mode $method" in
        "dies-of-discover server/discover") exit 9 ;;
        "stalls-on-discover server/discover") while :; do sleep 1; done ;;
        "modern server/discover") result "{$marks,\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}" ;;
        "asks server/discover") say '{"jsonrpc":"2.0","id":"s1","method":"ping"}'; error -32601 ;;
        "mute "*) ;;
        "ends-at-once "*) echo "panic: no database at ${TOKEN:-nowhere}" >&2; exit 3 ;;
        "garbage "*) say "hello" ;;
        "endless "*) head -c 5000000 /dev/zero | tr '\0' x; say "" ;;
        "ends-in-search tools/call") echo "out of memory" >&2; exit 137 ;;
        "wrong-id tools/list") say '{"jsonrpc":"2.0","id":9999,"result":{}}' ;;
        "old initialize") result '{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"program","version":"1"}}' ;;
        *" server/discover") error -32601 ;;
        *" initialize") result '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"program","version":"1"}}' ;;
        *" ping") result '{}' ;;
        *" tools/list")
            more='"content":[]'; [ "$mode" = modern ] && more="$marks"
            result "{$more,\"tools\":[{\"name\":\"search\",\"inputSchema\":{\"properties\":{\"query\":{\"type\":\"string\"}}}}]}" ;;
        *" tools/call")
            more='"content":[]'; [ "$mode" = modern ] && more="$marks"
            result "{$more,\"structuredContent\":{\"results\":[{\"text\":\"one\",\"source\":\"a.md\",\"score\":0.9}]}}" ;;
    esac
done
[ "$mode" = lingers ] && sleep 300
[ "$mode" = stubborn ] && while :; do sleep 1; done
[ -n "$LOG" ] && echo "input closed" >>"$LOG"
exit 0
