// A property: an executable theorem. It derives further calls from a case, or looks at the oracle or at integers alone, and says whether
// what the theorem states holds. Adding one: a file in oracles/theorems/ (related ones share it) and a line in all_properties().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"
#include "oracles/case_bounds.h"
#include "oracles/contract.h"
#include "oracles/ops/op.h"

namespace normfuzz {

// How a violation is decided.
enum class PropertyKind : std::uint8_t {
  kExact,   // bit for bit on a kernel's outputs
  kBound,   // outputs differ from what the theorem says by at most the bounds of the contract
  kOracle,  // on MPFR enclosures: a test of the oracle, no kernel runs
  kIndex,   // on integers
};
std::string_view name_of(PropertyKind kind);  // "exact", "bound", "oracle", "index"

// What was drawn for one check: a factor, a permutation's seed, a size. Numbers are hexadecimal floats or decimal integers.
using PropertyArgs = std::map<std::string, std::string>;

// One call: the case and, where a kernel ran it, what came back. For kind oracle `outputs` is null and the contract is `standard`.
struct PropertyRun {
  const Case* input = nullptr;
  const NamedTensors* outputs = nullptr;
  const Contract* contract = nullptr;
  CaseBounds* bounds = nullptr;  // under `contract`, computed on demand

  const Tensor& output(std::string_view name) const;  // premise: there is one of that name
};

// An element that is not what the theorem says.
struct Discrepancy {
  std::string output;      // "y"
  std::int64_t index = 0;  // of the base case wherever the element has a place there
  double got = 0, expected = 0;
  double allowed = 0;  // 0 for exact laws
  double ulps = 0;     // of the output type
};

struct PropertyResult {
  enum class State : std::uint8_t {
    kHolds,
    kBroken,
    kVoid,  // says nothing here: the contract is not one of its premises', or no element has a finite bound
  };
  State state = State::kHolds;
  PropertyKind kind = PropertyKind::kExact;  // of a broken one: which half of the statement it was
  std::string detail;                        // one sentence
  std::vector<Discrepancy> discrepancies;    // at most kMaxDiscrepancies, the first ones
  std::int64_t broken = 0;                   // elements
};
inline constexpr std::size_t kMaxDiscrepancies = 16;

struct Property {
  std::string_view id;              // row of the list of theorems: "rms.power_of_two_scale"
  std::string_view lean;            // name of the theorem in its source; "own": this project's
  std::string_view source;          // where the theorem comes from
  std::string_view premises;        // as checked on the case
  std::string_view statement;       // as executed
  std::string_view does_not_prove;  // one line
  std::string_view caught;          // a mutant or a corruption that it catches (docs/theorems.md)
  PropertyKind kind = PropertyKind::kExact;
  std::string_view claim = {};                 // of a manifest, that makes a violation a finding; empty: always one
  bool only_claimed = false;                   // costs a process of its own: targets without the claim are asked by `grade` alone
  std::vector<std::string_view> ops = {};      // that it applies to; empty: all
  std::vector<std::string_view> regimes = {};  // that make its premises true and interesting; empty: any
  // The statement over the reals, for contract.lean, in terms of the exact results of the calls: `run0 i`, `run1 i`, .. with `xs0`, `bias0
  // i`, `epsilon0` of layer_norm and rms_norm, `run0` .. of norms; N: the last call; the element `i`, the length `n`, numbers among the
  // arguments. Empty: about bits, integers or calls of another layout.
  std::string_view relation = {};
  // Judged by other code than `check`: which (harness/judge, harness/examine); or why it cannot be executed.
  std::string_view elsewhere = {};

  // Draws arguments for a case; nothing where the premises cannot be met.
  std::optional<PropertyArgs> (*choose)(const Case& base, std::uint64_t draw) = nullptr;
  // Whether stored arguments meet the premises on this case: shrinking changes the case, people edit files.
  bool (*meets)(const Case& base, const PropertyArgs& args) = nullptr;
  // The further calls. Pure; premise: meets(). Empty: the base alone is looked at.
  std::vector<Case> (*derive)(const Case& base, const PropertyArgs& args) = nullptr;
  // runs[0] is the base, then the derived ones. Null: no kernel is needed.
  PropertyResult (*check)(std::span<const PropertyRun> runs, const PropertyArgs& args) = nullptr;
  // The same runs without outputs.
  PropertyResult (*check_oracle)(std::span<const PropertyRun> runs, const PropertyArgs& args) = nullptr;
  PropertyResult (*check_index)(const PropertyArgs& args) = nullptr;

  bool applies_to(std::string_view op) const;
  bool needs_kernel() const { return check != nullptr; }
  bool needs_no_kernel() const { return check_oracle != nullptr || check_index != nullptr; }
};

// In the order of the list of theorems.
const std::vector<const Property*>& all_properties();
const Property* find_property(std::string_view id);
// "bound", "oracle, bound": everything by which it is decided.
std::string kinds_of(const Property& p);

// The property to ask of a case, by a number that depends on nothing but the case's place in the campaign; null: there is none.
const Property* draw_kernel_property(std::string_view op, std::uint64_t draw);
const Property* draw_oracle_property(std::string_view op, std::uint64_t draw);
// splitmix64's finalizer over what names a case and a purpose.
std::uint64_t property_draw(std::uint64_t seed, std::string_view op, DType dtype, std::uint64_t index, std::string_view purpose);

// Checks a property that needs no kernel on a case (kind oracle, index). Premise: needs_no_kernel() and meets().
PropertyResult check_without_kernel(const Property& p, const Case& base, const PropertyArgs& args);

}  // namespace normfuzz
