#!/usr/bin/env bash
# Installs what the tests need (see tests/install.sh) and runs every one of them. With --postgres, journeys keep what
# they remember on a server instead of in a file; SERIN_TEST_MACHINES=2 has two machines share the fleet of each.
# SERIN_TEST_FEATURES names what is built in besides.
set -euo pipefail
cd "$(dirname "$0")/.."
# Where this is set, each start of a server in Python compiles all that it imports: for seconds, on a core.
unset PYTHONDONTWRITEBYTECODE
tests/install.sh
# Programs of others, which take their time to start, and tests that have one core busy: beside those that wait.
beside=(old_releases real_servers third_party drill history)
# These compute all the time and wait for nobody: after those, they have what journeys and pages leave of the cores.
computes=(config figures)
own=()
for path in {.,reference,bench,bench/others,outbound}/tests/{*.rs,*/main.rs}; do
    [ -e "$path" ] || continue
    name=${path#*tests/}
    name=${name%/main.rs}
    name=${name%.rs}
    case " ${beside[*]} ${computes[*]} postgres journey web " in *" $name "*) ;; *) own+=(--test "$name") ;; esac
done
# Of the journeys these keep what they remember on a server too.
core=(canaries:: causes:: drills:: machines:: together:: why::)
journeys=()
[ "${1:-}" != --postgres ] || journeys=(tests/postgres/with_server.sh)
# Most tests wait for servers more than they compute, so more of them run at once than there are cores.
built=(--locked --workspace ${SERIN_TEST_FEATURES:+--features "$SERIN_TEST_FEATURES"})
run() { RUST_TEST_THREADS=${at_once:-8} "${journeys[@]}" nice -n "${niceness:-0}" cargo test "${built[@]}" --no-fail-fast "$@" -- --include-ignored; }
cargo test "${built[@]}" --no-run
log=target/tests-beside.log
failed=0
(
    run "${beside[@]/#/--test=}" || failed=1
    niceness=10 run --lib --bins "${computes[@]/#/--test=}" || failed=1
    exit "$failed"
) >"$log" 2>&1 &
tests/postgres/with_server.sh cargo test "${built[@]}" --no-fail-fast --test postgres || failed=1
RUST_TEST_THREADS=6 tests/postgres/with_server.sh cargo test "${built[@]}" --no-fail-fast --test journey -- \
    --include-ignored "${core[@]}" || failed=1
run "${own[@]}" || failed=1
# Journeys have whole programs compute beside them, and pages whole browsers: too many at once are too slow for each other.
at_once=6 run --test journey || failed=1
at_once=3 run --test web || failed=1
run --doc || failed=1
tests/services/check.sh || failed=1
wait $! || failed=1
cat "$log"
exit "$failed"
