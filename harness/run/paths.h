// Where the programs that belong to this one are.
#pragma once

#include <string>

namespace normfuzz {

// The folder with normfuzz-worker, python_host.py and targets/: $NORMFUZZ_WORKER_DIR, else the one of the running program or one above it
// (tests run from folders below).
std::string worker_directory();

// The interpreter for a Python file without a manifest: $NORMFUZZ_PYTHON, else the one of the onnxruntime target, else python3.
std::string default_python();

}  // namespace normfuzz
