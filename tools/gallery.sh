#!/bin/sh
# Makes the pictures of docs/gallery.md by the commands that the page shows: those between ```sh and ```.
#   gallery.sh PATH_OF_SHOAL [WORD]      only commands with that word
set -eu
shoal=$1
word=${2:-}
mkdir -p build/gallery
{
    printf 'shoal() { "%s" "$@"; }\n' "$shoal"
    sed -n '/^```sh$/,/^```$/p' docs/gallery.md | grep '^shoal ' | grep -e "$word"
} | sh -euv
