#!/usr/bin/env bash
# bench/run_devices.sh FOLDER [OPTIONS OF normfuzz run ...]: fuzzes every device target of the programs in FOLDER, in every variant that
# starts here, for 120 s unless the options say otherwise; the reasons of the others come first. In a bundle of bench/gpu.sh: run.sh, no FOLDER.
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
if [ -d "$here/lib" ]; then
  folder=$here
  export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
else
  folder=$(realpath "$1")
  shift
fi
[ $# -gt 0 ] || set -- --time 120s
[[ " $* " == *" --out "* ]] || set -- --out "$folder/devices-out" "$@"

# A target named by hand that cannot start ends a run: so each is asked for one case first.
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
targets=
for choice in cuda cuda:two_pass cudnn cudnn:training opencl opencl:subgroup opencl:scalar opencl:welford; do
  status=0
  "$folder/normfuzz" run --targets "$choice" --ops layer_norm --dtypes f32 --cases 1 --quiet --out "$probe/$choice" >"$probe/log" 2>&1 || status=$?
  if [ $status -gt 1 ]; then sed "s/^normfuzz/$choice/" "$probe/log" >&2; else targets+="${targets:+,}$choice"; fi
done
[ -n "$targets" ] || exit 2
"$folder/normfuzz" run --targets "$targets" "$@"
