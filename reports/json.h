// The one object that `--json` prints, per command (DESIGN.md, 'Command line'). Floats are C hexadecimal strings ("inf" and "nan" too), so
// that nothing is lost; counts, seconds, ratios and ulps are numbers, an infinite one the string "inf".
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "reports/report.h"

namespace normfuzz {

// {"cases","certified","by_target":[..],"findings":[{"slug","target","op","dtype","verdict","status","elements",..}],"seconds",..};
// `elements` of a finding is the number of elements of the shrunk case's first input, `evidence` lists the offending ones.
std::string run_json(const CampaignReport& report);

struct TargetListing {
  std::string name, version;
  bool available = false;
  std::string reason;  // why not available
  std::vector<std::string> ops, dtypes;
  std::string contract;  // as the manifest names it
  std::vector<std::string> variants = {};
};
std::string targets_json(std::span<const TargetListing> targets);  // {"targets":[..]}

struct OracleAnswer {
  std::string op, reading;                                 // "totalized" or "ieee"
  std::map<std::string, Tensor> expect;                    // correctly rounded, in the output's dtype
  std::map<std::string, std::vector<std::string>> digits;  // the same elements in decimal, as many digits as asked; may be empty
};
std::string oracle_json(const OracleAnswer& answer);  // {"expect":{"y":{"dtype","shape","data"}},..}

struct CheckAnswer {
  Verdict verdict = Verdict::kCertified;
  std::string law, contract, detail;
  std::vector<ElementEvidence> elements;
};
std::string check_json(const CheckAnswer& answer);  // {"verdict","elements":[{"index","got","exact","allowed","ulps"}],..}

// A theorem of the list, with what a campaign or a check counted.
struct TheoremListing {
  std::string id, lean, kind, claim, premises, statement, does_not_prove, elsewhere;
  std::vector<std::pair<PropertyKey, PropertyTally>> by_target;
  PropertyTally sum;
  // Premises that are met in fewer than 1 of 100 tries make a theorem that says nothing; fewer than 1000 tries cannot tell.
  bool vacuous() const { return sum.tried >= 1000 && 100 * sum.met < sum.tried; }
};
std::string theorems_json(std::span<const TheoremListing> theorems);  // {"theorems":[{"id","lean","kind","tried","met","violations",..}]}

struct PropertyAnswer {
  std::string id;
  bool met = false, broken = false, judged = true;
  std::string detail;
};

struct ReproAnswer {
  std::string target;  // label
  OutcomeKind outcome = OutcomeKind::kOk;
  std::string message;
  CheckAnswer check;
  std::optional<PropertyAnswer> property = {};  // of the case, if it has one
};
std::string repro_json(std::span<const ReproAnswer> targets);  // {"targets":[{"target","outcome","verdict","elements"}]}

// {"KEY":[{"name":..,"summary":..},..]}: `ops`, `regimes`.
struct NamedLine {
  std::string name;
  std::map<std::string, std::string> fields;
};
std::string list_json(std::string_view key, std::span<const NamedLine> lines);

}  // namespace normfuzz
