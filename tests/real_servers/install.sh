#!/bin/sh
# Installs the search servers of tests/real_servers, each with exactly what it depends on in a place of its own, as people
# have it; what is there already stays. With the name of a package, only that one. Needs node 20 or newer, npm, python3
# 3.11 or newer and, for basic-memory, Python 3.12 or 3.13, as python3 or beside it (pyenv's is found).
set -eu
cd "$(dirname "$0")/packages"
# They mostly wait for the network: a few at a time.
[ $# -gt 0 ] || exec xargs -P 4 -n 1 ../install.sh <<LIST
$(ls)
LIST
python312() {
    for python in python3 python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[23].*/bin/python3; do
        if "$python" -c 'import sys; sys.exit(not (3, 12) <= sys.version_info < (3, 14))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    echo 'basic-memory needs Python 3.12 or 3.13, and there is none' >&2
    return 1
}
package=$1
list=$package/package-lock.json
[ -f "$list" ] || list=$package/requirements.txt
# What was installed last; a list that changed is installed again.
if cmp -s "$list" "$package/installed.txt"; then
    exit
fi
if [ "$list" = "$package/package-lock.json" ]; then
    (cd "$package" && npm ci --no-audit --no-fund --loglevel=error)
else
    python=python3
    [ "$package" != basic-memory ] || python=$(python312)
    [ -x "$package/venv/bin/python" ] || "$python" -m venv "$package/venv"
    "$package/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-compile -r "$list"
fi
cp "$list" "$package/installed.txt"
