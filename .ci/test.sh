# The steps of `./normfuzz test`. Sourced by the entry script, whose functions it uses.

export ASAN_OPTIONS=${ASAN_OPTIONS:-allow_addr2line=1}  # names in stack traces without llvm-symbolizer

test_targets="onednn onnxruntime torch crosscheck"
sanitized_folders="core oracles harness"
format_folders="include core oracles harness reports cli targets fuzz tests bench"
lint_folders="core oracles harness"  # the program; reports and cli take a quarter of the time and compute nothing
passed=0 failed=0 skipped=0
skip_reasons=()

# count_tests LABEL JUNIT_FILE SECONDS: adds a ctest report to the sums and keeps the reason of each skip (what the test printed after 'Skipped').
count_tests() {
  local label=$1 report=$2 seconds=$3 total bad left name reason
  read -r total bad left < <(sed -n '/<testsuite/,/>/p' "$report" | tr '\n' ' ' |
    sed -E 's/.*tests="([0-9]+)".*failures="([0-9]+)".*disabled="([0-9]+)".*skipped="([0-9]+)".*/\1 \2 \3 \4/' | awk '{print $1, $2, $3 + $4}')
  passed=$((passed + total - bad - left)) failed=$((failed + bad)) skipped=$((skipped + left))
  say "$label: $((total - bad - left)) passed, $bad failed, $left skipped in $seconds s"
  while IFS=$'\t' read -r name reason; do skip_reasons+=("$label: $name: $reason"); done < <(awk '
    { gsub(/&quot;/, "\""); gsub(/&lt;/, "<"); gsub(/&gt;/, ">"); gsub(/&amp;/, "\\&") }
    /<testcase / { name = $0; sub(/.* name="/, "", name); sub(/".*/, "", name); skip = 0; reason = "" }
    /<skipped/ { skip = 1 }
    /status="disabled"/ { skip = 1; reason = "disabled" }
    expect { if (reason == "") reason = $0; expect = 0 }
    / Skipped$|>Skipped$|^Skipped$/ { expect = 1 }
    /(^|>)skipped: / { if (reason == "") { reason = $0; sub(/.*skipped: /, "", reason); sub(/<.*/, "", reason) } }
    /<\/testcase>/ { if (skip) print name "\t" (reason == "" ? "no reason given" : reason); skip = 0 }' "$report")
}

# run_ctest LABEL DIRECTORY ARGS...
run_ctest() {
  local label=$1 directory=$2 start=$SECONDS log report
  shift 2
  log=$directory/ctest.log report=$directory/ctest.xml
  rm -f "$report"
  say "$label ..."
  if ! ctest --test-dir "$directory" -j "$(nproc)" --timeout 300 --no-tests=error --output-on-failure --test-output-size-passed 65536 \
    --output-junit "$report" "$@" >"$log" 2>&1 </dev/null; then
    grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed)' "$log" | tail -n 80 | sed 's/^/  | /' >&2
    say "$label: the whole log is $log"
  fi
  [ -f "$report" ] || fail "$label: ctest did not run"
  count_tests "$label" "$report" $((SECONDS - start))
}

# check LABEL TOOL COMMAND...: a check that counts as one test.
check() {
  local label=$1 tool=$2 start=$SECONDS log=$build/log/$2.log
  shift 2
  if ! command -v "$tool" >/dev/null; then
    skipped=$((skipped + 1)) skip_reasons+=("$label: $tool is not installed")
  elif "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    say "$label: clean ($((SECONDS - start)) s)"
  else
    failed=$((failed + 1))
    grep -E 'error:|warning:' "$log" | sort -u | sort -t: -k1,1 ${one_each_file:+-u} | head -n 40 | sed "s|$root/||; s/^/  | /" >&2 || true
    say "$label: not clean ($((SECONDS - start)) s); the whole log is $log"
  fi
}

existing() { local folder; for folder in "$@"; do [ ! -d "$root/$folder" ] || echo "$folder"; done; }

check_format() {
  cd "$root" && find $(existing $format_folders) \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) -print0 | xargs -0 clang-format-16 --dry-run -Werror
}

# Lints each source that the build compiles, with the flags it is compiled with, unless neither it nor one of its headers changed since it last
# was clean: the object file is newer than the stamp exactly then.
check_lint() {
  local folders sources file object stamp
  folders=$(echo $lint_folders | tr ' ' '|')
  sources=$(sed -n 's/^ *"command": ".* -o \([^ ]*\) -c \([^ "]*\)",*$/\2\t\1/p' "$build/compile_commands.json" | grep -E "^$root/($folders)/")
  [ -n "$sources" ] || { echo "error: found no source in $build/compile_commands.json"; return 1; }
  echo "$sources" | while IFS=$'\t' read -r file object; do
    stamp=$build/$object.lint
    [ "$stamp" -nt "$build/$object" ] && [ "$stamp" -nt "$root/.clang-tidy" ] || printf '%s\0%s\0' "$file" "$stamp"
  done | xargs -0 -r -P "$(nproc)" -n 2 bash -c 'clang-tidy-16 -p "$0" --quiet --warnings-as-errors="*" "$1" && touch "$2"' "$build"
}

run_tests() {
  local start=$SECONDS folder goals=() reason
  ensure_packages "$root/deps/apt.txt" "$root/deps/apt-test.txt"
  find_python
  ensure_venvs $test_targets
  with_lock "$build/.lock" build_with release "$build" all
  run_ctest "tests" "$build" "$@"
  if [ $# = 0 ]; then
    for folder in $sanitized_folders; do goals+=("tests/$folder/all"); done
    only_venv=crosscheck with_lock "$build-sanitize/.lock" build_with sanitize "$build-sanitize" "${goals[@]}"
    for folder in $sanitized_folders; do run_ctest "sanitized tests of $folder" "$build-sanitize/tests/$folder"; done
    one_each_file=yes check "clang-format" clang-format-16 check_format
    check "clang-tidy" clang-tidy-16 check_lint
  fi
  for reason in "${skip_reasons[@]}"; do say "skipped: $reason"; done
  say "tests and checks took $((SECONDS - start)) s"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ]
}
