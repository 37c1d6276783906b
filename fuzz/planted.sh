#!/usr/bin/env bash
# How many cases until a planted bug shows, guided and not: fuzz/planted.sh BUILD MODULE [LIMIT] [SEEDS]
# BUILD: a build of the preset fuzz-fast. MODULE: mutants.so of an ordinary build, so that coverage does not see into the target, as it does
# not into a framework. One line per bug and guidance: the cases of each seed in order ('-': not within LIMIT) and their median.
set -euo pipefail
build=$1 module=$2 limit=${3:-20000} seeds=${4:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cases_until_found() {  # BUG GUIDANCE SEED
  local corpus=$work/$1-$2-$3
  mkdir "$corpus"
  NORMFUZZ_FUZZ_TARGET=$module:$1 NORMFUZZ_FUZZ_GUIDANCE=$2 NORMFUZZ_FUZZ_OUT=none \
    "$build/fuzz/layer_norm_fuzz" -seed="$3" -runs="$limit" -print_funcs=0 -artifact_prefix="$corpus/" "$corpus" 2>&1 |
    sed -n 's/^normfuzz: a finding of driver .*, case \([0-9]*\) of this process$/\1/p'
}

for bug in ${BUGS:-rare_width rare_rows rare_epsilon}; do
  for guidance in ${GUIDANCES:-all coverage none}; do
    found=()
    for ((seed = 1; seed <= seeds; ++seed)); do
      n=$(cases_until_found "$bug" "$guidance" "$seed" || true)
      found+=("${n:--}")
    done
    median=$(printf '%s\n' "${found[@]}" | sed 's/^-$/999999999/' | sort -n | sed -n "$(((seeds + 1) / 2))p" | sed "s/^999999999$/over $limit/")
    printf '%-14s %-9s %s  median %s\n' "$bug" "$guidance" "${found[*]}" "$median"
  done
done
