#!/bin/sh
# Installs the third-party MCP servers that tests/third_party.rs probes: exact versions, beside the tests, nothing global.
# Safe to run again; needs node 20 or newer, npm and python 3.11 or newer.
set -eu
cd "$(dirname "$0")/third_party"
npm ci --no-audit --no-fund --loglevel=error
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
