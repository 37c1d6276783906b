#!/usr/bin/env bash
# Builds what a GPU can run (cuda, cudnn, opencl) and nothing else, fuzzes it in every variant and prints the table. docs/gpu.md.
#   bench/gpu.sh [--build FOLDER] [OPTIONS OF normfuzz run ...]   default: build-gpu below the repository, --time 120s
#   bench/gpu.sh [--build FOLDER] --bundle FOLDER                 the programs and their libraries, for a machine without a toolkit
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
build=$root/build-gpu bundle=
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$(realpath -m "$2"); shift 2 ;;
    --bundle) bundle=$(realpath -m "$2"); shift 2 ;;
    *) break ;;
  esac
done

[ -e "$build/build.ninja" ] || cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNORMFUZZ_TESTS=OFF
devices=()
for target in cuda cudnn opencl; do
  if ninja -C "$build" -t query "target_$target" >/dev/null 2>&1; then devices+=("$target"); fi  # the others say why when they are run
done
ninja -C "$build" normfuzz normfuzz-worker "${devices[@]/#/target_}"
[ -n "$bundle" ] || exec "$root/bench/run_devices.sh" "$build" "$@"

# Everything that ldd names, but for the C library, which is the machine's, and cuDNN, which is too large: it must be there.
mkdir -p "$bundle/lib"
cp "$build/normfuzz" "$build/normfuzz-worker" "$bundle/"
for target in "${devices[@]}"; do
  mkdir -p "$bundle/targets/$target"
  cp "$build/targets/$target/$target.so" "$build/targets/$target/manifest.toml" "$bundle/targets/$target/"
done
find "$bundle" -maxdepth 3 -type f -perm -u+x -not -path "$bundle/lib/*" -exec ldd {} + | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|librt|libpthread|libcudnn)\.so' | xargs -I{} cp -L {} "$bundle/lib/"
cp "$root/bench/run_devices.sh" "$bundle/run.sh"
du -sh "$bundle"
