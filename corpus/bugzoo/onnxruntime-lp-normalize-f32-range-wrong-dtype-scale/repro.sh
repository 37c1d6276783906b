#!/bin/sh
# lp_normalize of one element in f32 returns 0 where the exact value is 1: a statistic leaves the range of the accumulation type, which the contract allows; needs dtype, scale.
# Shrunk by normfuzz; seen with onnxruntime 1.32.0.
# Run by normfuzz itself, from its directory or with its path in NORMFUZZ; exits 1 while the divergence is there.
exec "${NORMFUZZ:-./normfuzz}" repro "$(dirname "$0")/case.json" --target 'onnxruntime'
