#!/usr/bin/env bash
# Installs what the tests need (see tests/install.sh) and runs every one of them.
set -euo pipefail
cd "$(dirname "$0")/.."
tests/install.sh
# Journeys wait for servers far more than they compute, so more of them run at once than there are cores.
RUST_TEST_THREADS=8 cargo test --locked --workspace --no-fail-fast -- --include-ignored
