#!/usr/bin/env bash
# Installs what the tests need (see tests/install.sh) and runs every one of them.
set -euo pipefail
cd "$(dirname "$0")/.."
tests/install.sh
cargo test --locked -- --include-ignored
