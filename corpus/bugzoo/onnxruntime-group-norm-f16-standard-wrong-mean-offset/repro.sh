#!/bin/sh
# group_norm of 3 columns in f16 returns 1.07812 where the exact value is 1.07295 and the contract allows an error of 0.00171; needs mean offset; consistent with one-pass variance.
# Shrunk by normfuzz; seen with onnxruntime 1.32.0.
# Run by normfuzz itself, from its directory or with its path in NORMFUZZ; exits 1 while the divergence is there.
exec "${NORMFUZZ:-./normfuzz}" repro "$(dirname "$0")/case.json" --target 'onnxruntime'
