#!/bin/bash -eu
# Builds the libFuzzer drivers of fuzz/ into $OUT, each with its seeds and dictionary. $CC, $CXX, $CFLAGS, $CXXFLAGS, $LIB_FUZZING_ENGINE and
# $OUT are the interface of ClusterFuzzLite (and of OSS-Fuzz).
[ -f CMakePresets.json ] || { echo "build.sh: run it in the root of the repository" >&2; exit 2; }
build=${WORK:-$PWD}/build-clusterfuzzlite

# The libraries of the distribution are built for libstdc++.
CFLAGS=${CFLAGS:-} CXXFLAGS=${CXXFLAGS:-}
CXXFLAGS=${CXXFLAGS//-stdlib=libc++/}

cmake -S . -B "$build" --preset fuzz -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_C_FLAGS="$CFLAGS" \
  -DCMAKE_CXX_FLAGS="$CXXFLAGS" -DNORMFUZZ_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" -DCMAKE_BUILD_RPATH='$ORIGIN/lib'
drivers=${DRIVERS:-$(ninja -C "$build" -t targets all | sed -n 's/^\([a-z_]*_fuzz\): phony$/\1/p')}
ninja -C "$build" $drivers

mkdir -p "$OUT/lib"
for driver in $drivers; do
  cp "$build/fuzz/$driver" "$OUT/"
  # What the machine that fuzzes does not have: everything but the C library.
  ldd "$OUT/$driver" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread|librt|libgcc_s)\.so' |
    xargs -r cp -Lt "$OUT/lib"
  name=${driver%_fuzz}
  for dictionary in "fuzz/$name.dict" fuzz/case.dict; do
    if [ -f "$dictionary" ]; then cp "$dictionary" "$OUT/$driver.dict" && break; fi
  done
  [ ! -d "corpus/seeds/$name" ] || (cd "corpus/seeds/$name" && python3 -m zipfile -c "$OUT/${driver}_seed_corpus.zip" ./*)
done

# The drivers of cases look for the worker and the targets beside them.
if [ -x "$build/normfuzz-worker" ]; then
  cp "$build/normfuzz-worker" "$OUT/"
  for module in "$build"/targets/*/*.so; do
    [ ! -f "$module" ] || { mkdir -p "$OUT/targets" && cp -r "$(dirname "$module")" "$OUT/targets/"; }
  done
fi
