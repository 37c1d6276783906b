// bit.*: laws about bits and memory, true of any kernel that promises them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "oracles/theorems/relations.h"

namespace normfuzz {
namespace theorems {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 18;  // elements of a case whose layout is widened or whose rows are repeated

template <bool (*meets)(const Case&, const PropertyArgs&)>
std::optional<PropertyArgs> if_met(const Case& base, PropertyArgs args) {
  return meets(base, args) ? std::optional<PropertyArgs>(std::move(args)) : std::nullopt;
}

// ---- sign ----

bool sign_meets(const Case& base, const PropertyArgs&) { return base.input("x") != nullptr; }
Case without_bias(const Case& base) {
  Case c = bare(base);
  for (auto& [name, t] : c.inputs)
    if (name == "bias") t.reset();
  return c;
}
std::vector<Case> derive_sign(const Case& base, const PropertyArgs&) {
  Case plain = without_bias(base), negated = plain;
  Tensor& x = *negated.input("x");
  const std::uint64_t sign = std::uint64_t{1} << (8 * format_of(x.dtype).bytes - 1);
  for (std::int64_t i = 0, n = x.size(); i < n; ++i) x.set_bits(i, x.bits(i) ^ sign);
  return {std::move(plain), std::move(negated)};
}

// ---- rows ----

// Rows of the derived call: which row of the base each one is; -1: a filler.
std::vector<std::int64_t> arrangement(const PropertyArgs& args, std::int64_t rows) {
  const auto mode = args.find("mode");
  Draw draw(static_cast<std::uint64_t>(integer_arg(args, "seed").value_or(0)));
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  if (mode == args.end() || rows < 1) return {};
  if (mode->second == "append") {
    for (std::int64_t i = draw.between(1, 3); i > 0; --i) all.push_back(-1);
    return all;
  }
  if (rows < 2) return {};
  if (mode->second == "alone") return {draw.between(0, rows - 1)};
  if (mode->second == "permute") {
    for (std::int64_t i = rows - 1; i > 0; --i)
      std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(draw.between(0, i))]);
    if (std::is_sorted(all.begin(), all.end())) std::rotate(all.begin(), all.begin() + 1, all.end());
    return all;
  }
  if (mode->second != "drop") return {};
  const std::int64_t kept = draw.between(0, rows - 1), dropped = (kept + draw.between(1, rows - 1)) % rows;
  std::erase_if(all, [&](std::int64_t r) { return r != kept && (r == dropped || draw.next() % 2 == 0); });
  return all;
}

bool rows_meet(const Case& base, const PropertyArgs& args) {
  if (!base.input("x") || base.input("x")->size() > kLargest || base.input("x")->size() == 0) return false;
  return !arrangement(args, rows_of(base).rows()).empty();
}
std::optional<PropertyArgs> choose_rows(const Case& base, std::uint64_t state) {
  static constexpr const char* kModes[] = {"drop", "permute", "append", "alone"};
  Draw draw(state);
  PropertyArgs args = {{"mode", kModes[draw.between(0, 3)]}, {"seed", std::to_string(draw.next() >> 32)}};
  if (!rows_meet(base, args)) args["mode"] = "append";
  return if_met<rows_meet>(base, std::move(args));
}
// x as [rows, cols] with these rows, everything dense: only the rows' number and places differ between the two derived calls.
Case arranged(const Case& base, const RowView& view, std::span<const std::int64_t> rows) {
  Case c = bare(base);
  c.params.erase("normalized_axis");
  const Tensor& x = *base.input("x");
  Tensor chosen = Tensor::zeros(x.dtype, {static_cast<std::int64_t>(rows.size()), view.cols()});
  std::int64_t at = 0;
  for (const std::int64_t row : rows)
    for (std::int64_t i = 0; i < view.cols(); ++i, ++at)
      if (row >= 0)
        chosen.set_bits(at, x.bits(view.index(row, i)));
      else
        chosen.set_value(at, static_cast<double>(i % 7 - 3));  // any ordinary row
  for (auto& [name, t] : c.inputs) {
    if (!t) continue;
    if (name == "x") {
      t = chosen;
      continue;
    }
    t->shape = {view.cols()};
    t = dense(std::move(*t));
  }
  return c;
}
std::vector<Case> derive_rows(const Case& base, const PropertyArgs& args) {
  const RowView view = rows_of(base);
  std::vector<std::int64_t> all(static_cast<std::size_t>(view.rows()));
  std::iota(all.begin(), all.end(), 0);
  return {arranged(base, view, all), arranged(base, view, arrangement(args, view.rows()))};
}
PropertyResult check_rows(std::span<const PropertyRun> runs, const PropertyArgs& args) {
  const RowView view = rows_of(*runs[0].input);
  const std::vector<std::int64_t> rows = arrangement(args, view.rows());
  std::vector<std::int64_t> place(static_cast<std::size_t>(view.rows()), -1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i] >= 0) place[static_cast<std::size_t>(rows[i])] = static_cast<std::int64_t>(i);
  const auto there = [&](std::int64_t i) {
    const std::int64_t to = place[static_cast<std::size_t>(i / view.cols())];
    return to < 0 ? -1 : to * view.cols() + i % view.cols();
  };
  return equal_bits(runs[1], runs[2], there, {}, fmt::format("rows in another company ({})", args.at("mode")));
}

// ---- layout ----

void spread(Tensor& t, const std::string& mode) {
  const std::vector<std::int64_t> strides = dense_strides(t.shape);
  t.offset = mode == "offset" ? 3 : 0;
  t.strides = strides;
  if (mode == "spaced")
    for (std::int64_t& s : t.strides) s *= 2;
  if (mode != "transposed") return;
  std::int64_t step = 1;  // the first dimension varies fastest
  for (std::size_t i = 0; i < t.shape.size(); ++i) {
    t.strides[i] = step;
    step *= t.shape[i];
  }
}
std::vector<Case> derive_layout(const Case& base, const PropertyArgs& args) {
  Case c = bare(base);
  for (auto& [name, t] : c.inputs)
    if (t) spread(*t, args.at("mode"));
  return {std::move(c)};
}
bool same_layout(const Case& a, const Case& b) {
  for (const auto& [name, t] : a.inputs)
    if (const Tensor* other = b.input(name); t && (t->strides != other->strides || t->offset != other->offset)) return false;
  return true;
}
bool layout_meets(const Case& base, const PropertyArgs& args) {
  const auto mode = args.find("mode");
  if (mode == args.end() || !base.input("x") || base.input("x")->size() > kLargest) return false;
  static constexpr std::string_view kModes[] = {"dense", "spaced", "offset", "transposed"};
  if (std::find(std::begin(kModes), std::end(kModes), mode->second) == std::end(kModes)) return false;
  return !same_layout(derive_layout(base, args)[0], base);
}
std::optional<PropertyArgs> choose_layout(const Case& base, std::uint64_t state) {
  static constexpr const char* kModes[] = {"dense", "spaced", "offset", "transposed"};
  const std::int64_t first = Draw(state).between(0, 3);
  for (std::int64_t i = 0; i < 4; ++i)
    if (auto args = if_met<layout_meets>(base, {{"mode", kModes[(first + i) % 4]}})) return args;
  return std::nullopt;
}

// ---- alignment ----

bool alignment_meets(const Case& base, const PropertyArgs& args) {
  const auto bytes = integer_arg(args, "misalign");
  const Tensor* x = base.input("x");
  return bytes && x && *bytes >= 0 && *bytes < 64 && *bytes % format_of(x->dtype).bytes == 0 && *bytes != x->misalign;
}
std::optional<PropertyArgs> choose_alignment(const Case& base, std::uint64_t state) {
  const Tensor& x = *base.input("x");
  const std::int64_t item = format_of(x.dtype).bytes;
  const std::int64_t places = 64 / item, step = Draw(state).between(1, places - 1);
  return if_met<alignment_meets>(base, {{"misalign", std::to_string((x.misalign / item + step) % places * item)}});
}
std::vector<Case> derive_alignment(const Case& base, const PropertyArgs& args) {
  Case c = bare(base);
  c.input("x")->misalign = static_cast<int>(*integer_arg(args, "misalign"));
  return {std::move(c)};
}

// ---- threads ----

constexpr std::int64_t kMostThreads = 16;

bool threads_meet(const Case&, const PropertyArgs& args) {
  const auto threads = integer_arg(args, "threads");
  return threads && *threads >= 2 && *threads <= kMostThreads;
}
std::optional<PropertyArgs> choose_threads(const Case& base, std::uint64_t state) {
  return if_met<threads_meet>(base, {{"threads", std::to_string(Draw(state).between(2, 4))}});
}
std::vector<Case> derive_threads(const Case& base, const PropertyArgs& args) {
  Case c = bare(base);
  c.threads = static_cast<int>(*integer_arg(args, "threads"));
  return {std::move(c)};
}

// ---- identity parameters ----

bool identity_meets(const Case& base, const PropertyArgs& args) {
  const auto which = args.find("which");
  return base.input("x") && which != args.end() && (which->second == "weight" || which->second == "bias" || which->second == "both");
}
std::optional<PropertyArgs> choose_identity(const Case& base, std::uint64_t state) {
  static constexpr const char* kWhich[] = {"weight", "bias", "both"};
  return if_met<identity_meets>(base, {{"which", kWhich[Draw(state).between(0, 2)]}});
}
std::vector<Case> derive_identity(const Case& base, const PropertyArgs& args) {
  const std::string& which = args.at("which");
  const Tensor& x = *base.input("x");
  const std::int64_t axis = base.integer("normalized_axis", -1), first = axis < 0 ? axis + x.rank() : axis;
  const std::vector<std::int64_t> shape(x.shape.begin() + first, x.shape.end());
  Case absent = bare(base), present = absent;
  if (which != "bias") {
    absent.params.erase("weight_offset");
    present.params.erase("weight_offset");
    absent.set_input("weight", std::nullopt);
    Tensor ones = Tensor::zeros(x.dtype, shape);
    for (std::int64_t i = 0; i < ones.size(); ++i) ones.set_value(i, 1);
    present.set_input("weight", std::move(ones));
  }
  if (which != "weight") {
    absent.set_input("bias", std::nullopt);
    present.set_input("bias", Tensor::zeros(x.dtype, shape));
  }
  return {std::move(absent), std::move(present)};
}

// ---- decided by the harness ----

bool always(const Case&, const PropertyArgs&) { return true; }
std::optional<PropertyArgs> choose_always(const Case&, std::uint64_t) { return PropertyArgs{}; }
bool containment_meets(const Case& base, const PropertyArgs&) {
  const Tensor* x = base.inputs.empty() || !base.inputs.front().second ? nullptr : &*base.inputs.front().second;
  if (!x || !find_op(base.op)) return false;
  const RowView view = rows_of(base);
  bool finite = false, other = false;
  for (std::int64_t r = 0; r < view.rows() && !(finite && other); ++r) {
    bool row_finite = true;
    for (std::int64_t i = 0; i < view.cols() && row_finite; ++i) row_finite = std::isfinite(x->value(view.index(r, i)));
    (row_finite ? finite : other) = true;
  }
  return finite && other;
}

}  // namespace
}  // namespace theorems

using namespace theorems;

extern const Property kSignSymmetry = {
    .id = "bit.sign_symmetry",
    .lean = "own",
    .source = "this project",
    .premises = "no bias; claimed: symmetric rounding, no shift that depends on a sign",
    .statement = "f(-x) = -f(x) bit for bit, +0 and -0 equal",
    .does_not_prove = "that either result is right",
    .caught = "kernel that rounds toward +infinity",
    .kind = PropertyKind::kExact,
    .claim = "sign_symmetry",
    .ops = {"layer_norm", "rms_norm", "channel_layer_norm", "lp_normalize", "group_norm", "instance_norm"},
    .regimes = {"gaussian", "large_mean", "wide_exponents", "special_values"},
    .choose = choose_always,
    .meets = sign_meets,
    .derive = derive_sign,
    .check = [](std::span<const PropertyRun> runs,
                const PropertyArgs&) { return equal_bits(runs[1], runs[2], same_place, {.sign = -1}, "x with the opposite sign"); },
};

extern const Property kRowIndependence = {
    .id = "bit.row_independence",
    .lean = "own",
    .source = "TorchLean, BatchInvariance",
    .premises = "claimed",
    .statement = "a row's bits do not depend on its neighbours, their number or its place: rows dropped, permuted, appended",
    .does_not_prove = "that the row is right",
    .caught = "kernel that looks at the row's place",
    .kind = PropertyKind::kExact,
    .claim = "row_independence",
    .ops = {"layer_norm", "rms_norm"},
    .regimes = {"gaussian", "mixed_rows", "special_values", "large_mean"},
    .choose = choose_rows,
    .meets = rows_meet,
    .derive = derive_rows,
    .check = check_rows,
};

extern const Property kContainment = {
    .id = "bit.containment",
    .lean = "own",
    .source = "this project",
    .premises = "some rows finite, some not; not for sums over rows (dgamma, dbeta)",
    .statement = "a NaN or infinity in one row changes no bit of another, against the same call with that row finite",
    .does_not_prove = "that finite neighbours are harmless",
    .caught = "faulty plug-in of the tests",
    .kind = PropertyKind::kExact,
    .regimes = {"special_values"},
    .elsewhere = "harness/examine.cc, on every case with such rows",
    .choose = choose_if<containment_meets>,
    .meets = containment_meets,
};

extern const Property kDeterminism = {
    .id = "bit.determinism",
    .lean = "own",
    .source = "this project",
    .premises = "claimed by default",
    .statement = "the same call twice gives the same bits",
    .does_not_prove = "which of two different results is wrong",
    .caught = "faulty plug-in of the tests",
    .kind = PropertyKind::kExact,
    .claim = "determinism",
    .elsewhere = "harness/examine.cc, on every 8th case",
    .choose = choose_always,
    .meets = always,
};

extern const Property kLayout = {
    .id = "bit.layout",
    .lean = "own",
    .source = "this project",
    .premises = "claimed; at most 2^18 elements",
    .statement = "strides and offset of the inputs change no bit: dense, two apart, moved by three elements, first dimension fastest",
    .does_not_prove = "that the bits are right",
    .caught = "kernel that looks at the strides",
    .kind = PropertyKind::kExact,
    .claim = "layout",
    .ops = {"layer_norm", "rms_norm", "channel_layer_norm", "lp_norm", "lp_normalize", "rms", "group_norm", "instance_norm"},
    .choose = choose_layout,
    .meets = layout_meets,
    .derive = derive_layout,
    .check =
        [](std::span<const PropertyRun> runs, const PropertyArgs& args) {
          return equal_bits(runs[0], runs[1], same_place, {}, fmt::format("another layout ({})", args.at("mode")));
        },
};

extern const Property kAlignment = {
    .id = "bit.alignment",
    .lean = "own",
    .source = "this project",
    .premises = "claimed",
    .statement = "the base address of x and y modulo 64 bytes changes no bit",
    .does_not_prove = "that the bits are right",
    .caught = "kernel that looks at the address",
    .kind = PropertyKind::kExact,
    .claim = "alignment",
    .ops = {"layer_norm", "rms_norm", "channel_layer_norm", "lp_norm", "lp_normalize", "rms", "group_norm", "instance_norm"},
    .choose = choose_alignment,
    .meets = alignment_meets,
    .derive = derive_alignment,
    .check =
        [](std::span<const PropertyRun> runs, const PropertyArgs& args) {
          return equal_bits(runs[0], runs[1], same_place, {}, fmt::format("x {} bytes off a 64-byte boundary", args.at("misalign")));
        },
};

extern const Property kThreadCount = {
    .id = "bit.thread_count",
    .lean = "own",
    .source = "this project",
    .premises = "claimed",
    .statement = "a process with 2 to 4 threads gives the same bits as one with a single thread",
    .does_not_prove = "that the target did use them: small calls seldom do",
    .caught = "kernel that rounds otherwise with a second thread",
    .kind = PropertyKind::kExact,
    .claim = "thread_count",
    .only_claimed = true,
    .choose = choose_threads,
    .meets = threads_meet,
    .derive = derive_threads,
    .check =
        [](std::span<const PropertyRun> runs, const PropertyArgs& args) {
          return equal_bits(runs[0], runs[1], same_place, {}, fmt::format("a process with {} threads", args.at("threads")));
        },
};

extern const Property kMemory = {
    .id = "bit.memory",
    .lean = "own",
    .source = "this project",
    .premises = "none",
    .statement = "inputs unchanged, guard bytes intact, every output element written",
    .does_not_prove = "that memory beyond the guards stays intact",
    .caught = "faulty plug-in of the tests",
    .kind = PropertyKind::kExact,
    .elsewhere = "harness/judge.cc, on every call",
    .choose = choose_always,
    .meets = always,
};

extern const Property kIdentityParameters = {
    .id = "bit.identity_parameters",
    .lean = "own",
    .source = "this project",
    .premises = "claimed",
    .statement = "an absent weight gives the bits of ones, an absent bias those of zeros; +0 and -0 equal",
    .does_not_prove = "that the bits are right",
    .caught = "kernel that rounds otherwise without parameters",
    .kind = PropertyKind::kExact,
    .claim = "identity_parameters",
    .ops = {"layer_norm", "rms_norm"},
    .choose = choose_identity,
    .meets = identity_meets,
    .derive = derive_identity,
    .check =
        [](std::span<const PropertyRun> runs, const PropertyArgs& args) {
          return equal_bits(runs[1], runs[2], same_place, {.zeros_equal = true},
                            fmt::format("{} given as ones and zeros", args.at("which")));
        },
};

}  // namespace normfuzz
