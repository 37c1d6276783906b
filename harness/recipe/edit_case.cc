#include "harness/recipe/edit_case.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "harness/generate/layout.h"
#include "harness/generate/stream.h"
#include "oracles/ops/geometry.h"

namespace normfuzz::fuzzing {
namespace {

using Row = std::vector<double>;

double special_value(DType d, int which) {
  const FloatFormat& f = format_of(d);
  const double specials[] = {0,
                             -0.0,
                             std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             f.max_finite,
                             -f.max_finite,
                             f.smallest_normal,
                             f.smallest_subnormal,
                             1 + 2 * f.unit_roundoff,
                             1 - f.unit_roundoff,
                             power_of_two((f.max_exponent + 1) / 2),  // the first whose square overflows
                             power_of_two(f.min_exponent / 2 - 1),    // the last whose square underflows
                             power_of_two(f.precision),               // where 1 is the last place
                             1,
                             -1};
  return specials[static_cast<unsigned>(which) % std::size(specials)];
}

// v times 2^(k % 512), in the type's range.
double scaled(DType d, double v, int k) { return std::isfinite(v) ? nearest_finite(d, std::ldexp(v, k % 512)) : v; }

void store(Tensor& t, std::int64_t index, double v) { t.set_value(index, std::isfinite(v) ? nearest_finite(t.dtype, v) : v); }

void scale_all(Tensor* t, int k) {
  for (std::int64_t i = 0, n = t ? t->size() : 0; i < n; ++i) t->set_value(i, scaled(t->dtype, t->value(i), k));
}

double spread_of(const Row& row) {
  const auto [lo, hi] = std::minmax_element(row.begin(), row.end());
  const double spread = *hi - *lo;
  if (std::isfinite(spread) && spread > 0) return spread;
  return std::isfinite(*hi) && *hi != 0 ? std::fabs(*hi) : 1;
}

void edit_row(const Edit& e, DType d, Row& row) {
  const auto amount = static_cast<unsigned>(static_cast<std::uint16_t>(e.amount));
  const std::size_t n = row.size();
  switch (e.kind) {
    case EditKind::kScale:
      for (double& v : row) v = scaled(d, v, e.amount);
      break;
    case EditKind::kMean: {
      const double shift = std::copysign(std::ldexp(spread_of(row), std::abs(e.amount) % 64), e.amount);
      for (double& v : row) v += std::isfinite(shift) ? shift : 0;
      break;
    }
    case EditKind::kPlant:
      row[amount / 16 % n] = special_value(d, static_cast<int>(amount % 16));
      break;
    case EditKind::kNegate:
      for (double& v : row) v = -v;
      break;
    case EditKind::kConstant:
      row.assign(n, Row(row)[amount % n]);
      break;
    case EditKind::kSpike:
      row[amount / 32 % n] = scaled(d, row[amount / 32 % n], static_cast<int>(amount % 32));
      break;
    case EditKind::kTail:
      for (std::size_t i = n - std::min<std::size_t>(n, 1 + amount % 4); i < n; ++i) row[i] = scaled(d, row[i], e.amount / 4);
      break;
    default:
      break;
  }
}

class Editor {
 public:
  explicit Editor(Case& c)
      : case_(c), first_(*c.input(geometry::first_input_name(c))), rows_(find_op(c.op)->rows(c)), weight_(c.input("weight")) {
    if (!weight_) weight_ = c.input("q_weight");
    for (const char* name : {"dy", "b", "residual", "k"})
      if (!second_) second_ = c.input(name);
  }

  void apply(const Edit& e) {
    switch (e.kind) {
      case EditKind::kNothing:
        return;
      case EditKind::kScaleWeight:
        return scale_all(weight_, e.amount);
      case EditKind::kScaleBias:
        return scale_all(case_.input("bias"), e.amount);
      case EditKind::kScaleSecond:
        return scale_all(second_, e.amount);
      case EditKind::kSecondAlong:
        return second_along(e.amount);
      case EditKind::kPlantWeight:
        if (weight_) store(*weight_, e.place % weight_->size(), special_value(weight_->dtype, e.amount));
        return;
      default:
        return edit_rows(e);
    }
  }

  void finish() {
    for (auto& [name, t] : case_.inputs)
      if (t) make_consistent(*t);
  }

 private:
  void second_along(int k) {
    if (!second_ || second_->shape != first_.shape) return;
    for (std::int64_t i = 0; i < first_.size(); ++i) second_->set_value(i, scaled(first_.dtype, first_.value(i), k));
  }

  void edit_rows(const Edit& e) {
    const std::int64_t count = rows_.rows(), cols = rows_.cols();
    if (count == 0 || cols == 0) return;
    const std::int64_t begin = e.place == kAllRows ? 0 : e.place % count, end = e.place == kAllRows ? count : begin + 1;
    const auto source = static_cast<std::int64_t>(static_cast<std::uint16_t>(e.amount)) % count;
    Row row(static_cast<std::size_t>(cols));
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t from = e.kind == EditKind::kCopy ? source : r;
      for (std::int64_t i = 0; i < cols; ++i) row[static_cast<std::size_t>(i)] = first_.value(rows_.index(from, i));
      edit_row(e, first_.dtype, row);
      for (std::int64_t i = 0; i < cols; ++i) store(first_, rows_.index(r, i), row[static_cast<std::size_t>(i)]);
    }
  }

  Case& case_;
  Tensor& first_;
  const RowView rows_;
  Tensor *weight_, *second_ = nullptr;
};

// Of the first row, rounded; about the mean if `centred`.
double mean_square(const Case& c, bool centred) {
  const Tensor& x = geometry::first_input(c);
  const RowView rows = find_op(c.op)->rows(c);
  const auto n = static_cast<double>(rows.cols());
  double mean = 0, sum = 0;
  for (std::int64_t i = 0; centred && i < rows.cols(); ++i) mean += x.value(rows.index(0, i)) / n;
  for (std::int64_t i = 0; i < rows.cols(); ++i) {
    const double v = x.value(rows.index(0, i)) - mean;
    sum += v * v / n;
  }
  return sum;
}

// A finite float32 number >= 0.
double as_epsilon(double v) {
  if (!(v >= 0)) return 0;
  return nearest_finite(DType::kF32, v);
}

}  // namespace

void apply_edits(Case& c, const Recipe& recipe) {
  if (recipe.edits.empty()) return;
  Editor editor(c);
  for (const Edit& e : recipe.edits) editor.apply(e);
  editor.finish();
}

void apply_epsilon(Case& c, const Recipe& r) {
  static constexpr float kUsual[] = {0.0F, 1e-12F, 1e-8F, 1e-6F, 1e-5F, 1e-3F, 1.0F, 100.0F};
  const OpInfo& op = *find_op(c.op);
  const auto has = [&](std::string_view name) { return std::find(op.params.begin(), op.params.end(), name) != op.params.end(); };
  if (r.epsilon_form < 200 || !has("epsilon") || (has("epsilon_mode") && c.text("epsilon_mode", "none") == "none")) return;
  if (r.epsilon_form < 224) {
    c.params["epsilon"] = static_cast<double>(kUsual[r.epsilon % std::size(kUsual)]);
  } else if (r.epsilon_form < 240) {
    c.params["epsilon"] = power_of_two(r.epsilon - 149);
  } else {
    const double beside = std::ldexp(1, -(r.epsilon % 24));
    c.params["epsilon"] = as_epsilon(mean_square(c, r.epsilon_form >= 248) * (r.epsilon < 128 ? 1 + beside : 1 - beside));
  }
}

void drop_parameters(Case& c, const Recipe& r) {
  const auto drop = [&](std::string_view name) {
    for (const InputSpec& input : find_op(c.op)->inputs)
      if (input.name == name && !input.required) c.set_input(name, std::nullopt);
  };
  if ((r.absent & 3) == kNoWeight) {
    for (const char* name : {"weight", "q_weight", "k_weight"}) drop(name);
    if (!c.input("weight")) c.params.erase("weight_offset");  // of no weight
  }
  if ((r.absent & 12) == kNoBias) drop("bias");
}

}  // namespace normfuzz::fuzzing
