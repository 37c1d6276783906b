// The one object that `--json` prints, per command (DESIGN.md, 'Command line'). Floats are C hexadecimal strings ("inf" and "nan" too), so
// that nothing is lost; counts, seconds, ratios and ulps are numbers, an infinite one the string "inf".
#pragma once

#include <map>
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

struct ReproAnswer {
  std::string target;  // label
  OutcomeKind outcome = OutcomeKind::kOk;
  std::string message;
  CheckAnswer check;
};
std::string repro_json(std::span<const ReproAnswer> targets);  // {"targets":[{"target","outcome","verdict","elements"}]}

// {"KEY":[{"name":..,"summary":..},..]}: `ops`, `regimes`.
struct NamedLine {
  std::string name;
  std::map<std::string, std::string> fields;
};
std::string list_json(std::string_view key, std::span<const NamedLine> lines);

}  // namespace normfuzz
