#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "core/hex_float.h"
#include "harness/shrink/edit.h"
#include "oracles/ops/geometry.h"
#include "oracles/ops/op.h"
#include "reports/bugzoo_entry.h"

namespace normfuzz {
namespace {

// A finite double as an exact rational number of Lean.
std::string rational(double v) {
  if (v == 0) return "(0 : ℝ)";
  int exponent = 0;
  auto odd = static_cast<std::int64_t>(std::ldexp(std::frexp(v, &exponent), 53));
  exponent -= 53;
  const int zeros = std::countr_zero(static_cast<std::uint64_t>(odd));
  odd >>= zeros;
  exponent += zeros;
  constexpr int kPlain = 62;  // integers that print without a power
  const std::string numerator = odd < 0 ? fmt::format("-{}", -odd) : fmt::format("{}", odd);
  if (exponent == 0) return fmt::format("({} : ℝ)", numerator);
  if (exponent < 0 && exponent >= -kPlain) return fmt::format("({} / {} : ℝ)", numerator, std::int64_t{1} << -exponent);
  if (exponent < 0) return fmt::format("({} / 2 ^ {} : ℝ)", numerator, -exponent);
  if (exponent + std::bit_width(static_cast<std::uint64_t>(std::abs(odd))) <= kPlain)
    return fmt::format("({} : ℝ)", odd * (std::int64_t{1} << exponent));
  return fmt::format("({} * 2 ^ {} : ℝ)", numerator, exponent);
}

std::string list(const std::vector<double>& values) {
  std::string out = "[";
  for (const double v : values) out += (out.size() > 1 ? ", " : "") + rational(v);
  return out + "]";
}

constexpr const char* kAffine = R"(noncomputable def mean (xs : List ℝ) : ℝ := xs.sum / xs.length
noncomputable def variance (xs : List ℝ) : ℝ := (xs.map fun x => (x - mean xs) ^ 2).sum / xs.length
noncomputable def meanSquare (xs : List ℝ) : ℝ := (xs.map fun x => x ^ 2).sum / xs.length
noncomputable def layerNorm (xs : List ℝ) (epsilon : ℝ) (weight bias : List ℝ) (i : ℕ) : ℝ :=
  (xs.getD i 0 - mean xs) / √(variance xs + epsilon) * weight.getD i 0 + bias.getD i 0
noncomputable def rmsNorm (xs : List ℝ) (epsilon : ℝ) (weight bias : List ℝ) (i : ℕ) : ℝ :=
  xs.getD i 0 / √(meanSquare xs + epsilon) * weight.getD i 0 + bias.getD i 0
)";

constexpr const char* kGraph = R"(noncomputable def mean (xs : List ℝ) : ℝ := xs.sum / xs.length
noncomputable def centred (xs : List ℝ) : List ℝ := xs.map fun x => x - mean xs
noncomputable def root (xs : List ℝ) (exponent : ℕ) (epsilon : ℝ) : ℝ := √(mean ((centred xs).map fun d => d ^ exponent) + epsilon)
)";

constexpr const char* kBackward = R"(noncomputable def mean (xs : List ℝ) : ℝ := xs.sum / xs.length
noncomputable def dot (xs ys : List ℝ) : ℝ := (List.zipWith (· * ·) xs ys).sum
noncomputable def centred (xs : List ℝ) : List ℝ := xs.map fun x => x - mean xs
-- `d` is the row itself (rms_norm) or the centred row (layer_norm).
noncomputable def scale (d : List ℝ) (epsilon : ℝ) : ℝ := 1 / √(dot d d / d.length + epsilon)
noncomputable def normalized (d : List ℝ) (epsilon : ℝ) : List ℝ := d.map fun v => v * scale d epsilon
noncomputable def weighted (weight dy : List ℝ) : List ℝ := List.zipWith (· * ·) weight dy
noncomputable def layerNormDx (xs dy weight : List ℝ) (epsilon : ℝ) (i : ℕ) : ℝ :=
  let h := normalized (centred xs) epsilon
  let g := weighted weight dy
  scale (centred xs) epsilon * (g.getD i 0 - mean g - h.getD i 0 * (dot g h / xs.length))
noncomputable def rmsNormDx (xs dy weight : List ℝ) (epsilon : ℝ) (i : ℕ) : ℝ :=
  let h := normalized xs epsilon
  let g := weighted weight dy
  scale xs epsilon * (g.getD i 0 - h.getD i 0 * (dot g h / xs.length))
-- Of column j, summed over rows (x, dy).
noncomputable def layerNormDweight (rows : List (List ℝ × List ℝ)) (epsilon : ℝ) (j : ℕ) : ℝ :=
  (rows.map fun r => r.2.getD j 0 * (normalized (centred r.1) epsilon).getD j 0).sum
noncomputable def rmsNormDweight (rows : List (List ℝ × List ℝ)) (epsilon : ℝ) (j : ℕ) : ℝ :=
  (rows.map fun r => r.2.getD j 0 * (normalized r.1 epsilon).getD j 0).sum
noncomputable def dbias (rows : List (List ℝ × List ℝ)) (j : ℕ) : ℝ := (rows.map fun r => r.2.getD j 0).sum
)";

constexpr const char* kNorms = R"(noncomputable def dot (xs ys : List ℝ) : ℝ := (List.zipWith (· * ·) xs ys).sum
noncomputable def lpNorm (p : ℝ) (xs : List ℝ) : ℝ := (xs.map fun x => |x| ^ p).sum ^ (1 / p)
noncomputable def maxNorm (xs : List ℝ) : ℝ := (xs.map fun x => |x|).foldr max 0
noncomputable def rms (xs : List ℝ) (epsilon : ℝ) : ℝ := √(dot xs xs / xs.length + epsilon)
noncomputable def distance (norm : List ℝ → ℝ) (a b : List ℝ) : ℝ := norm (List.zipWith (· - ·) a b)
noncomputable def cosine (atLeast : ℝ) (a b : List ℝ) : ℝ := dot a b / (max (lpNorm 2 a) atLeast * max (lpNorm 2 b) atLeast)
-- The denominator of lp_normalize by its epsilon_mode.
noncomputable def addInside (epsilon : ℝ) (xs : List ℝ) : ℝ := √(dot xs xs + epsilon)
noncomputable def maxSquare (epsilon : ℝ) (xs : List ℝ) : ℝ := √(max (dot xs xs) epsilon)
noncomputable def addOutside (norm : List ℝ → ℝ) (epsilon : ℝ) (xs : List ℝ) : ℝ := norm xs + epsilon
noncomputable def atLeast (norm : List ℝ → ℝ) (epsilon : ℝ) (xs : List ℝ) : ℝ := max (norm xs) epsilon
noncomputable def lpNormalize (length : List ℝ → ℝ) (xs : List ℝ) (i : ℕ) : ℝ := xs.getD i 0 / length xs
)";

// The offending element: the worst one of the judgement.
const ElementEvidence* offender(const Finding& f) { return f.judgement.evidence.empty() ? nullptr : &f.judgement.evidence[0]; }

struct Row {
  std::vector<double> x, other;  // other: dy or b
};

bool all_finite(const std::vector<double>& v) {
  for (const double e : v)
    if (!std::isfinite(e)) return false;
  return true;
}

// The rows that the element depends on: its own, or all of a sum over the rows.
std::vector<Row> rows_of(const Case& c, const std::string& output, std::int64_t row) {
  const auto [rows, cols] = shape_of(c);
  const bool all = find_op(c.op)->shape == OutputShape::kUpdate || output == "dweight" || output == "dbias";
  const std::vector<double> x = values_by_row(c, main_name(c));
  std::vector<double> other;
  for (const char* name : {"dy", "b", "residual"})
    if (c.input(name)) other = values_by_row(c, name);
  std::vector<Row> out;
  for (std::int64_t r = all ? 0 : row; r < (all ? rows : row + 1); ++r) {
    const auto part = [&](const std::vector<double>& v) {
      return v.empty() ? v : std::vector<double>(v.begin() + r * cols, v.begin() + (r + 1) * cols);
    };
    out.push_back({part(x), part(other)});
  }
  return out;
}

// The weights or biases of a row.
std::vector<double> parameter(const Case& c, const char* name, double absent, double offset, std::int64_t row) {
  const Tensor* t = c.input(name);
  const RowView view = view_of(c);
  std::vector<double> v;
  for (std::int64_t i = 0; i < view.cols(); ++i) v.push_back((t ? t->value(view.parameter(row, i)) : absent) + offset);
  return v;
}

std::string pairs(const std::vector<Row>& rows) {
  std::string out = "[";
  for (const Row& r : rows) out += fmt::format("{}({}, {})", out.size() > 1 ? ", " : "", list(r.x), list(r.other));
  return out + "]";
}

struct Statement {
  const char* definitions;
  std::string value;  // of the offending element, as a term
};

std::string norm_text(double p) { return std::isinf(p) ? "maxNorm" : fmt::format("(lpNorm {})", rational(p)); }

// Norms and what is made of them.
Statement norm_statement(const Case& c, const Row& row, std::int64_t column) {
  const std::string x = list(row.x), norm = norm_text(c.number("p", 2)), epsilon = rational(c.epsilon());
  const std::string mode = c.text("epsilon_mode", "none");
  switch (find_op(c.op)->formula) {
    case Formula::kRms:
      return {kNorms, fmt::format("rms {} {}", x, epsilon)};
    case Formula::kDistance:
      return {kNorms, fmt::format("distance {} {} {}", norm, x, list(row.other))};
    case Formula::kCosine:
      return {kNorms, fmt::format("cosine {} {} {}", epsilon, x, list(row.other))};
    case Formula::kLpNormalize:
      break;
    default:
      return {kNorms, fmt::format("{} {}", norm, x)};
  }
  const std::string length = mode == "add_inside"    ? fmt::format("(addInside {})", epsilon)
                             : mode == "max_square"  ? fmt::format("(maxSquare {})", epsilon)
                             : mode == "add_outside" ? fmt::format("(addOutside {} {})", norm, epsilon)
                             : mode == "max_norm"    ? fmt::format("(atLeast {} {})", norm, epsilon)
                                                     : norm;
  return {kNorms, fmt::format("lpNormalize {} {} {}", length, x, column)};
}

// layer_norm with one node of its graph changed.
Statement graph_statement(const Case& c, const Row& row, const Place& place) {
  const std::string pattern = c.text("pattern", "exact"), x = list(row.x);
  const std::string root = fmt::format("root {} {} {}", x, pattern == "exponent_4" ? 4 : 2, rational(c.epsilon()));
  const std::string d = fmt::format("({}(centred {}).getD {} 0)", pattern == "swapped_sub" ? "-" : "", x, place.col);
  const auto k = static_cast<std::size_t>(place.col);
  return {kGraph, fmt::format("{} * {} + {}", pattern == "swapped_div" ? fmt::format("{} / {}", root, d) : fmt::format("{} / {}", d, root),
                              rational(parameter(c, "weight", 1, 0, place.row)[k]), rational(parameter(c, "bias", 0, 0, place.row)[k]))};
}

Statement statement_of(const Case& c, const std::string& output, const std::vector<Row>& rows, const Place& place) {
  const OpInfo& op = *find_op(c.op);
  const std::int64_t column = place.col;
  if (op.formula == Formula::kAddRmsNorm) {
    const std::string sum = fmt::format("(List.zipWith (· + ·) {} {})", list(rows[0].x), list(rows[0].other));
    if (output != "y") return {kAffine, fmt::format("({}.getD {} 0)", sum, column)};
    return {kAffine, fmt::format("rmsNorm {} {} {} {} {}", sum, rational(c.epsilon()),
                                 list(parameter(c, "weight", 1, c.number("weight_offset", 0), place.row)),
                                 list(parameter(c, "bias", 0, 0, place.row)), column)};
  }
  if (op.formula == Formula::kLayerNormGraph) return graph_statement(c, rows[0], place);
  if (!op.affine()) return norm_statement(c, rows[0], column);
  const std::string name = op.centred() ? "layerNorm" : "rmsNorm", epsilon = rational(c.epsilon());
  const std::string weight = list(parameter(c, "weight", 1, c.number("weight_offset", 0), place.row));
  if (op.forward_map())
    return {kAffine,
            fmt::format("{} {} {} {} {} {}", name, list(rows[0].x), epsilon, weight, list(parameter(c, "bias", 0, 0, place.row)), column)};
  if (output == "dx")
    return {kBackward, fmt::format("{}Dx {} {} {} {} {}", name, list(rows[0].x), list(rows[0].other), weight, epsilon, column)};
  const bool bias = output == "dbias" || output == "bias_new";
  const std::string gradient =
      bias ? fmt::format("dbias {} {}", pairs(rows), column) : fmt::format("{}Dweight {} {} {}", name, pairs(rows), epsilon, column);
  if (op.shape == OutputShape::kGradients) return {kBackward, gradient};
  const std::vector<double> before = parameter(c, bias ? "bias" : "weight", bias ? 0 : 1, 0, 0);
  return {kBackward, fmt::format("({} - {} * {})", rational(before[static_cast<std::size_t>(column)]),
                                 rational(c.number("learning_rate", 0)), gradient)};
}

// What the exact result of one of a property's calls is called in its relation: of layer_norm and rms_norm "run0 i" with the row "xs0" and
// its parameters; of norms "run0", the number of the row.
std::string run_definitions(const Case& c, std::size_t k, const std::vector<Row>& rows, const Place& place) {
  if (!find_op(c.op)->affine()) return fmt::format("noncomputable def run{} : ℝ := {}\n", k, statement_of(c, "y", rows, place).value);
  const std::string weight = list(parameter(c, "weight", 1, c.number("weight_offset", 0), place.row)),
                    bias = list(parameter(c, "bias", 0, 0, place.row));
  return fmt::format(
      "noncomputable def xs{0} : List ℝ := {1}\nnoncomputable def epsilon{0} : ℝ := {2}\nnoncomputable def weight{0} (i : ℕ) : ℝ := "
      "{3}.getD i 0\nnoncomputable def bias{0} (i : ℕ) : ℝ := {4}.getD i 0\nnoncomputable def run{0} (i : ℕ) : ℝ := {5} xs{0} epsilon{0} "
      "{3} {4} i\n",
      k, list(rows[0].x), rational(c.epsilon()), weight, bias, find_op(c.op)->centred() ? "layerNorm" : "rmsNorm");
}

// A relation of property.h with N replaced by the number of the last call.
std::string relation_text(const Property& p, std::size_t last) {
  std::string relation(p.relation);
  for (const std::string_view name : {"runN", "xsN", "epsilonN", "biasN"})
    for (std::size_t at = relation.find(name); at != std::string::npos; at = relation.find(name))
      relation.replace(at + name.size() - 1, 1, std::to_string(last));
  return relation;
}

std::string property_statement(const Entry& e, const ElementEvidence& at) {
  const Case& base = e.finding.shrunk;
  const Property* p = find_property(base.property->id);
  if (!p || p->relation.empty() || !p->meets(base, base.property->args))
    return "-- The theorem compares calls of different layout or op: it is stated in README.md, not over the reals here.\n";
  std::vector<Case> runs = {base};
  if (p->derive)
    for (Case& c : p->derive(base, base.property->args)) runs.push_back(std::move(c));
  std::string out = std::string(find_op(base.op)->affine() ? kAffine : kNorms) + "\n";
  for (const auto& [name, value] : base.property->args)
    if (const auto number = value_from_hex(value); number && std::isfinite(*number) && value.starts_with("0x"))
      out += fmt::format("noncomputable def {} : ℝ := {}\n", name, rational(*number));
  const Place place = place_of(base, at.output, at.index);
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const std::vector<Row> rows = rows_of(runs[k], "y", place.row);
    if (!all_finite(rows[0].x) || !all_finite(rows[0].other)) return "-- A row holds a NaN or an infinity: no statement over the reals.\n";
    out += run_definitions(runs[k], k, rows, place);
  }
  out += fmt::format("def n : ℕ := {}\ndef i : ℕ := {}\n", shape_of(base).cols, place.col);
  out += fmt::format("\n/-- {}, for this case. -/\ndef contract : Prop :=\n  {}\n", p->id, relation_text(*p, runs.size() - 1));
  if (!std::isfinite(at.got)) return out + "\n-- The kernel returned a NaN or an infinity, which is no real number.\n";
  if (!std::isfinite(at.exact) || !std::isfinite(at.allowed)) return out;
  return out + fmt::format(
                   "\n/-- What the kernel returned is farther from what the statement and its other results give than its bounds "
                   "allow. -/\ndef divergence : Prop :=\n  {} < |{} - {}|\n",
                   rational(at.allowed), rational(at.got), rational(at.exact));
}

// The definitions above say what this output is.
bool defined_here(const Case& c, const std::string& output) {
  const OpInfo& op = *find_op(c.op);
  if (geometry::normalizes_by_running_statistics(c) || c.input("q")) return false;
  return output == "y" || output == "dx" || output == "residual_new" || op.rows(c).parameter_by_column();
}

std::string statement(const Entry& e, const ElementEvidence& at) {
  if (e.finding.shrunk.property) return property_statement(e, at);
  const Finding& f = e.finding;
  if (!defined_here(f.shrunk, at.output)) return "-- This output is stated in README.md, not over the reals here.\n";
  const Place place = place_of(f.shrunk, at.output, at.index);
  const std::vector<Row> rows = rows_of(f.shrunk, at.output, place.row);
  for (const Row& r : rows)
    if (!all_finite(r.x) || !all_finite(r.other)) return "-- A row holds a NaN or an infinity: no statement over the reals.\n";
  for (const char* name : {"weight", "bias"})
    if (const Tensor* t = f.shrunk.input(name); t && !all_finite(t->values()))
      return "-- A parameter is a NaN or an infinity: no statement over the reals.\n";
  const auto [definitions, value] = statement_of(f.shrunk, at.output, rows, place);
  const std::string begin = std::string(definitions) + "\n";
  if (f.law.starts_with("ln.one_feature")) {
    const char* name = f.law == "ln.one_feature_forward"
                           ? "one_feature_layernorm_scalar_contract, for this case: the exact value is the bias"
                           : "For one feature the gradient is zero; for this case";
    const std::string out = begin + fmt::format("/-- {}. -/\ndef contract : Prop :=\n  {} = {}\n", name, value, rational(at.exact));
    if (std::isfinite(at.got))
      return out + fmt::format("\n/-- What the kernel returned is another number. -/\ndef divergence : Prop :=\n  {} ≠ {}\n",
                               rational(at.got), value);
    return out + "\n-- The kernel returned a NaN or an infinity, which is no real number.\n";
  }
  if (!std::isfinite(at.exact)) return "-- The exact result is no real number.\n";
  if (!std::isfinite(at.got))
    return begin + fmt::format(
                       "/-- The exact value is finite and this large at most; the kernel returned {}. -/\ndef divergence : Prop :=\n  |{}| "
                       "≤ {}\n",
                       number_text(at.got), value, rational(std::nextafter(std::fabs(at.exact), HUGE_VAL)));
  if (!std::isfinite(at.allowed)) return begin + "-- The contract bounds no error here.\n";
  return begin + fmt::format(
                     "/-- The kernel's result is farther from the exact value than the contract '{}' allows. -/\ndef divergence : Prop "
                     ":=\n  {} < |{} - {}|\n",
                     f.law, rational(at.allowed), rational(at.got), value);
}

// The output has the element, and the law is about its number.
bool numeric(const Finding& f, const ElementEvidence* at) {
  if (!at || at->index < 0 || f.law.starts_with("bit.") || !find_op(f.shrunk.op)) return false;
  for (const auto& [name, t] : find_op(f.shrunk.op)->output_layouts(f.shrunk))
    if (name == at->output) return at->index < t.size();
  return false;
}

}  // namespace

std::string lean_text(const Entry& e) {
  const Finding& f = e.finding;
  const Law law = law_of(f);
  std::string out = fmt::format(
      "-- {}\n-- {}\n-- A statement, not a checked proof: no Lean tool has read this file; Lean checks it only where a toolchain is at "
      "hand. All numbers are exact.\nimport Mathlib\n\nnamespace NormFuzz\n\n",
      f.slug.empty() ? slug_of(f) : f.slug, law.theorem);
  const ElementEvidence* at = offender(f);
  if (numeric(f, at))
    out += statement(e, *at);
  else
    out += "-- The law is about bits, memory or the process, not about real numbers: nothing to state here.\n";
  return out + "\nend NormFuzz\n";
}

}  // namespace normfuzz
