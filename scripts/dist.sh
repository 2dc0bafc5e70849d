#!/usr/bin/env bash
# Builds the program that is handed out, for Linux on x86-64 with glibc 2.28 (RHEL 8, Debian 10) or newer, with its checksum.
#
#   scripts/dist.sh                 target/dist-out/iolode-VERSION-x86_64-linux.tar.gz and .sha256
#   scripts/dist.sh --check         the same, and runs it in a bare Debian made by debootstrap, without Rust and Python (needs root)
#
# IOLODE_MIRROR: the Debian mirror of --check. cargo-zigbuild and zig come from PyPI and lie in target/dist-tools afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

glibc=2.28
triple=x86_64-unknown-linux-gnu
target=${CARGO_TARGET_DIR:-target}
tools=$target/dist-tools
out=$target/dist-out

if [ ! -x "$tools/bin/cargo-zigbuild" ]; then
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet 'cargo-zigbuild==0.24.*' 'ziglang==0.17.*'
fi
PATH="$(realpath "$tools/bin"):$PATH" CARGO_TARGET_DIR=$target cargo zigbuild --locked --profile dist --bin iolode --target "$triple.$glibc"

program=$target/$triple/dist/iolode
needed=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
if [ "$(printf '%s\n' "GLIBC_$glibc" "$needed" | sort -V | tail -n 1)" != "GLIBC_$glibc" ]; then
    echo "dist.sh: $program needs $needed, which is newer than $glibc" >&2
    exit 1
fi

if [ -n "$(nm "$program" 2> /dev/null | head -c 1)" ]; then
    echo "dist.sh: $program has symbols" >&2
    exit 1
fi

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=iolode-$version-x86_64-linux
mkdir -p "$out/$name"
cp "$program" README.md GUIDE.md CHANGELOG.md LICENSE* "$out/$name/"
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/$name.tar.gz" "$name"
rm -r "${out:?}/$name"
(cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256" && cat "$name.tar.gz.sha256")
ls -l "$program" "$out/$name.tar.gz"

[ "${1:-}" = --check ] || exit 0
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase bookworm "$root" "${IOLODE_MIRROR:-http://deb.debian.org/debian}" > "$out/debootstrap.log"
tar -C "$root" -xzf "$out/$name.tar.gz"
for absent in cargo rustc python3 gcc; do
    if chroot "$root" /bin/sh -c "command -v $absent"; then
        echo "dist.sh: the bare Debian has $absent" >&2
        exit 1
    fi
done
chroot "$root" "/$name/iolode" --version
chroot "$root" /bin/sh -c "mkdir /try && cd /try && /$name/iolode demo"
