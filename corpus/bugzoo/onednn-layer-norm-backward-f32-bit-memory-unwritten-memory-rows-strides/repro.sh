#!/bin/sh
# layer_norm_backward of one feature in 2 rows in f32 breaks memory (dx: 1 of 2 elements never written, the first is [1, 0]); needs rows, strides.
# Shrunk by normfuzz; seen with oneDNN 3.13.2 (c852e73ef73b, isa 0xe7).
# Run by normfuzz itself, from its directory or with its path in NORMFUZZ; exits 1 while the divergence is there.
exec "${NORMFUZZ:-./normfuzz}" repro "$(dirname "$0")/case.json" --target 'onednn'
