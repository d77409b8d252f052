#!/bin/sh
# Installs Fathom from a release: the tarball for this machine, after its checksum was compared with that in SHA256SUMS.
#
#   sh install.sh [--from FOLDER|URL] [--to PREFIX]
#
# --from is where the release's files are: a folder, or the address from which they can be loaded (default: the folder of this
# script, where `make dist` leaves it). --to is where bin and share go (default: /usr/local as root, else ~/.local).
# Nothing is started, and nothing outside PREFIX is written.
set -eu

stop() {
    echo "install.sh: $*" >&2
    exit 1
}

from=$(dirname "$0")
if [ "$(id -u)" = 0 ]; then to=/usr/local; else to=${HOME:?}/.local; fi
while [ $# -gt 0 ]; do
    case $1 in
        --from) from=${2:?install.sh: --from needs a folder or an address}; shift 2 ;;
        --to) to=${2:?install.sh: --to needs a folder}; shift 2 ;;
        -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) stop "unknown option $1: --from and --to are known" ;;
    esac
done

[ "$(uname -s)" = Linux ] || stop "there are releases for Linux only, not for $(uname -s)"
case $(uname -m) in
    x86_64 | aarch64) machine=$(uname -m) ;;
    *) stop "there are releases for x86_64 and aarch64, not for $(uname -m)" ;;
esac
command -v sha256sum >/dev/null || stop "sha256sum is not installed, and nothing is installed unchecked"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fetch() { # name: a file of the release into the scratch folder
    case $from in
        *://*)
            if command -v curl >/dev/null; then
                curl --fail --silent --show-error --location --output "$scratch/$1" "$from/$1"
            elif command -v wget >/dev/null; then
                wget --quiet --output-document "$scratch/$1" "$from/$1"
            else
                stop "neither curl nor wget is installed: load the release's files by hand and name their folder with --from"
            fi ;;
        *) cp "$from/$1" "$scratch/$1" ;;
    esac || stop "no $1 in $from: name the folder or the address of a release with --from"
}

fetch SHA256SUMS
# One line: a checksum, two spaces, a name.
line=$(grep "^[0-9a-f]\{64\}  fathom-[0-9][^/]*-linux-$machine\.tar\.gz$" "$scratch/SHA256SUMS" || true)
[ "$(printf '%s\n' "$line" | grep -c .)" = 1 ] || stop "SHA256SUMS names no single tarball for $machine: is $from a release?"
tarball=${line#*  }
fetch "$tarball"
(cd "$scratch" && printf '%s\n' "$line" | sha256sum --check --status) ||
    stop "$tarball is not what SHA256SUMS says: it is damaged, or it was changed; nothing was installed"

mkdir -p "$to" 2>/dev/null || true
[ -w "$to" ] || stop "$to cannot be written: use sudo, or name another folder with --to"
tar -xzf "$scratch/$tarball" -C "$scratch"
tree=$scratch/${tarball%.tar.gz}
version=$("$tree/bin/fathom" --version) || stop "the program does not run on this machine; nothing was installed"
cp -R "$tree/." "$to/"
echo "installed ${version%% (*} in $to/bin"
case :$PATH: in
    *:"$to/bin":*) ;;
    *) echo "add it to the search path: PATH=$to/bin:\$PATH" ;;
esac
