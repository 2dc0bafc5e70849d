#!/usr/bin/env bash
# Everything that must be green before a change is added to: run it before a commit.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all -- --check
cargo clippy --all-targets -- -D warnings
cargo test --release
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps
cargo check --no-default-features
