#!/usr/bin/env bash
# Lines of src without its tests: files of tests, folders of tests, and `mod tests` at the end of a file are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files 'src/*.rs' | grep -vE '(^|/)tests(\.rs|/)' | while read -r file; do
    awk '/^#\[cfg\(test\)\]$/ { held = 1; next } held && /^(pub\(.*\) )?mod tests( \{|;)/ { exit } held { count++; held = 0 } { count++ } END { print count + 0 }' "$file"
done | awk '{ lines += $1 } END { print lines }'
