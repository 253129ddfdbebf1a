#!/usr/bin/env bash
# Holds docs/contributing/ to its word: each patch there still applies, edits no more places by hand than it promises, and
# in a copy of the tree, once what is generated is written anew, passes the tests that notice a place left out.
#
# A place is a hunk of a patch, of two edits with at most six lines between them. Rows of tests are no places.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
copy=$root/target/contributing/tree

# Where the hunks of a patch begin that are no tests: `file:line`.
places() {
    awk '/^\+\+\+ b\// { file = substr($2, 3) } /^@@/ { split($2, at, ","); print file, -at[1] }' "$1" |
        while read -r file line; do
            case $file in tests/* | */tests.rs) continue ;; esac
            tests=$(grep -n -m1 '^#\[cfg(test)\]' "$file" 2>/dev/null | cut -d: -f1 || true)
            if [ "$line" -lt "${tests:-999999}" ]; then echo "$file:$line"; fi
        done
}

# check PATCH MAX: it applies to the tree as it is, and stays within its promise.
check() {
    local patch=docs/contributing/$1 max=$2 hunks
    git apply --check "$patch"
    hunks=$(places "$patch" | wc -l)
    echo "$1: $hunks places"
    if [ "$hunks" -gt "$max" ]; then
        echo "$patch: $max were promised; find out which list has a twin" >&2
        places "$patch" >&2
        exit 1
    fi
}
check new-key.patch 5
check new-reason.patch 3

# A repository of its own, else git would apply nothing below another one. Times stay, so that only what differs from
# the last copy is compiled.
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
    tar --create --null --files-from=- | tar --extract --directory "$copy"
cd "$copy"
git init --quiet
git add --all
git apply "$root"/docs/contributing/*.patch
git diff --stat

# Dependencies come compiled from the tree's own folder. There cargo knows a package by its name and version and not by where
# it lies, so the copy has a version of its own: else the tree's next build would take up what was built of the copy.
sed -i '/^\[workspace.package\]/,/^$/s/^version = .*/version = "0.0.0-contributing"/' Cargo.toml
sed -i '/^name = "serin/{n;s/^version = .*/version = "0.0.0-contributing"/}' Cargo.lock
export CARGO_BUILD_BUILD_DIR=$root/target CARGO_TARGET_DIR=$root/target/contributing/built
built=(--locked --quiet ${SERIN_TEST_FEATURES:+--features "$SERIN_TEST_FEATURES"})
cargo test "${built[@]}" --no-run --lib --test config --test floors --test docs
# The program of the tests: one that is built alone has other features of its libraries, so that half of them are built anew.
"$CARGO_TARGET_DIR/debug/serin" schema >monitors.json
"$CARGO_TARGET_DIR/debug/serin" schema --included >included.json
mv monitors.json docs/monitors.schema.json
mv included.json docs/included.schema.json
cargo test "${built[@]}" --test config --test floors
cargo test "${built[@]}" --lib -- domain:: config:: runbook:: words::
# Last, since the reference server serves these pages and would be compiled again.
SERIN_DOCS_WRITE=1 cargo test "${built[@]}" --test docs lists::
git add --intent-to-add --all
echo 'With what is generated:'
git diff --stat
