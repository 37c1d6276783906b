// What the tests of running share: small cases, targets made of the example plug-ins.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/case.h"
#include "harness/run/paths.h"
#include "harness/run/worker.h"

namespace normfuzz {

inline const std::string kPluginDir = NORMFUZZ_BINARY_DIR "/tests/plugins/";

// x = 1, 2, 3, ... with `cols` columns; layer_norm without weight and bias.
inline Case small_case(std::int64_t rows, std::int64_t cols, DType dtype = DType::kF32) {
  Case c;
  c.op = "layer_norm";
  c.params["epsilon"] = 0x1p-10;
  Tensor x = Tensor::zeros(dtype, {rows, cols});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set_value(i, static_cast<double>(i + 1));
  c.set_input("x", std::move(x));
  c.set_input("weight", std::nullopt);
  c.set_input("bias", std::nullopt);
  return c;
}

inline TargetChoice plugin(const std::string& file) {
  auto target = load_target_file(kPluginDir + (file.ends_with(".py") ? "python/" : "") + file);
  EXPECT_TRUE(target) << target.error();
  return {*target, target->variants[0]};
}

inline std::vector<const Case*> pointers(const std::vector<Case>& cases) {
  std::vector<const Case*> result;
  for (const Case& c : cases) result.push_back(&c);
  return result;
}

// Where it has not, the Python tests are skipped.
inline bool python_has_numpy() {
  static const bool has = std::system(("'" + default_python() + "' -c 'import numpy' 2>/dev/null").c_str()) == 0;
  return has;
}

inline WorkerLimits quick_limits() {
  WorkerLimits limits;
  limits.seconds_per_case = 60;  // far more than any call that ends takes, also on a busy machine
  limits.seconds_to_start = 300;
  return limits;
}

// The outcomes of layer_norm with 2 rows and each of these widths, run as one batch.
inline std::vector<Outcome> run_widths(Worker& worker, const std::vector<std::int64_t>& widths) {
  std::vector<Case> cases;
  for (const auto n : widths) cases.push_back(small_case(2, n));
  return worker.run(pointers(cases));
}

// Centred two-pass float32, the example plug-ins' own arithmetic, so that good results can be told bit for bit.
inline std::vector<float> plain_layer_norm_row(const std::vector<float>& x, float epsilon) {
  float sum = 0, squares = 0;
  for (const float v : x) sum += v;
  const float n = static_cast<float>(x.size()), mean = sum / n;
  for (const float v : x) squares += (v - mean) * (v - mean);
  const float scale = 1 / std::sqrt(squares / n + epsilon);
  std::vector<float> y;
  for (const float v : x) y.push_back((v - mean) * scale * 1 + 0);
  return y;
}

}  // namespace normfuzz
