#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "core/hex_float.h"
#include "harness/life_cycle/stored_entry.h"
#include "oracles/ops/op.h"
#include "reports/bugzoo_entry.h"

namespace normfuzz {
namespace {

constexpr std::size_t kRows = 64;
constexpr std::int64_t kListedNumbers = 16;

std::string element_table(const Entry& e) {
  if (e.elements.empty())
    return "No element was judged: " + (e.finding.judgement.detail.empty() ? std::string("see above") : e.finding.judgement.detail) + ".\n";
  std::string out = "| element | got | exact | allowed error | ulps |\n|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < e.elements.size() && i < kRows; ++i) {
    const ElementEvidence& v = e.elements[i];
    out += fmt::format("| {}[{}]{} | {} | {} | {} | {:.3g} |\n", v.output, v.index, v.verdict == ElementVerdict::kViolation ? " (!)" : "",
                       number_text(v.got), number_text(v.exact), std::isinf(v.allowed) ? "unbounded" : number_text(v.allowed), v.ulps);
  }
  if (!e.all_elements) out += "\nOnly offending elements are listed; `normfuzz repro` prints all.\n";
  return out;
}

// The calls that the theorem compares; the first is case.json itself.
std::string runs_text(const Case& c) {
  const Property* p = find_property(c.property->id);
  std::string out = fmt::format("## Runs\n\nProperty {}", c.property->id);
  for (const auto& [name, value] : c.property->args) out += fmt::format(", {} = {}", name, value);
  out += ". Run 1 is case.json; the others are derived from it:\n\n";
  if (!p || !p->derive || !p->meets(c, c.property->args)) return out + "- none: the theorem is about this call alone\n\n";
  std::size_t number = 2;
  for (const Case& run : p->derive(c, c.property->args)) {
    out += fmt::format("- run {}: epsilon {}", number++, number_text(run.epsilon()));
    for (const auto& [name, t] : run.inputs) {
      out += fmt::format("; {} ", name);
      if (!t)
        out += "absent";
      else if (t->size() > kListedNumbers)
        out += fmt::format("[{}]", fmt::join(t->shape, ", "));
      else
        out += fmt::format("[{}] = {}", fmt::join(t->shape, ", "), fmt::join(t->values(), ", "));
    }
    out += "\n";
  }
  return out + "\n";
}

std::string versions_text(const Entry& e) {
  std::string out = "- " + (e.finding.version.empty() ? e.label + ", version unknown" : e.finding.version) + "\n";
  if (!e.finding.variants.empty()) {
    std::vector<std::string> names;
    for (const std::string& v : e.finding.variants) names.push_back(v.empty() ? "default" : v);
    out += fmt::format("- variants that show it: {}\n", fmt::join(names, ", "));
  }
  return out;
}

std::string origin_text(const Entry& e) {
  const Finding& f = e.finding;
  std::string out =
      fmt::format("Seed {}, index {}, regime {}, seen {} time{}:\n\n    ./normfuzz run --targets {} --ops {} --dtypes {} --seed {}\n\n",
                  f.first_seed, f.first_index, f.first_regime.empty() ? "unknown" : f.first_regime, f.occurrences,
                  f.occurrences == 1 ? "" : "s", e.label, f.op, name_of(f.dtype), f.first_seed);
  return out + "The case here was shrunk from that one; `case.json` keeps its provenance.\n";
}

std::string reproduction_text(const Entry& e, const Programs& programs) {
  std::string out;
  bool alone = false;
  for (const auto& [name, content] : programs.files) {
    alone = alone || name != "repro.sh";
    if (name == "repro.py") out += "    python repro.py              # needs the framework only; exits 1 while the divergence is there\n";
    if (name == "repro.cc") out += "    head -n 20 repro.cc          # its compile command; exits 1 while the divergence is there\n";
    if (name == "repro.sh") out += "    ./repro.sh                   # from normfuzz's own directory\n";
  }
  out += fmt::format("    ./normfuzz repro case.json --target {}\n", e.label);
  if (!alone) out += fmt::format("\nThere is no stand-alone program: {}. normfuzz reproduces it.\n", programs.why_not);
  return out;
}

// What the names of needs mean, one line each.
std::string meanings(const std::vector<std::string>& needs) {
  static const std::map<std::string_view, std::string_view> kMeanings = {
      {"axis", "rows along another axis than the last"},
      {"alignment", "a base address off a 64-byte boundary"},
      {"bias", "a bias that is not zero"},
      {"columns", "this number of columns; wider rows of the same values do not show it"},
      {"constant row", "equal elements in the whole row"},
      {"cotangent", "a cotangent that is not all ones"},
      {"dtype", "this data type; the same values in the next wider one do not show it"},
      {"epsilon", "this epsilon; 1e-5, or one too small to matter, does not show it"},
      {"layout", "this layout; the same rows in the other of nchw and nhwc do not show it"},
      {"learning rate", "a learning rate other than 1"},
      {"mean offset", "a mean that is large beside the spread; the centred row does not show it"},
      {"mixed dtypes", "a parameter of another data type than x"},
      {"offset", "elements that do not start at the beginning of their buffer"},
      {"p", "this p; p = 2 does not show it"},
      {"rows", "more than one row"},
      {"scale", "magnitudes near an end of the range; the same row scaled toward 1 does not show it"},
      {"special values", "a NaN or an infinity"},
      {"strides", "elements that do not lie densely"},
      {"weight", "a weight that is not one"},
      {"weight offset", "a weight_offset of 1"},
      {"width tail", "columns behind the last multiple of 4, 8 or 16; multiples of them do not show it"},
      {"zero row", "a row of zeros"},
  };
  std::string out;
  for (const std::string& need : needs)
    if (const auto it = kMeanings.find(need); it != kMeanings.end()) out += fmt::format("\n- {}: {}", it->first, it->second);
  return out + "\n\n";
}

// The instruction set that the framework said it ran, as a flag of /proc/cpuinfo; where the manifest requires none.
std::string observed_isa(const Entry& e) {
  if (!e.requires_cpu.empty() || e.finding.verdict == Verdict::kRangeLimit) return e.requires_cpu;
  std::string version = e.finding.version;
  std::transform(version.begin(), version.end(), version.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (version.find("avx512") != std::string::npos) return "avx512dq";
  return version.find("avx2") != std::string::npos ? "avx2" : "";
}

// How the contract lets the formula be associated, where it has a choice.
std::string association_text(const Entry& e) {
  const OpInfo* op = find_op(e.finding.op);
  if (!op || !op->affine()) return "";
  const char* either = "centred or folded";
  if (op->forward_map()) return fmt::format(", {} affine map", e.contract.folded_affine ? either : "centred");
  std::string text = fmt::format(", {} xhat", e.contract.folded_xhat ? either : "centred");
  if (op->shape == OutputShape::kGradients) text += fmt::format(", {} gradient of x", e.contract.folded_backward ? either : "centred");
  return text;
}

}  // namespace

std::string number_text(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return fmt::format("{:.9g} ({})", v + 0.0, hex_from_value(v + 0.0));
}

Law law_of(const Finding& f) {
  if (const Property* p = f.shrunk.property && f.law == f.shrunk.property->id ? find_property(f.law) : nullptr)
    return {fmt::format("{}. Premises: {}.", p->statement, p->premises), p->lean == "own" ? "" : std::string(p->lean),
            p->claim.empty() ? "that the kernel breaks the statement, whatever its rounding; what is allowed is derived from its contract."
                             : fmt::format("that the kernel breaks a law that its manifest claims ({}).", p->claim),
            std::string(p->does_not_prove) + "."};
  if (f.law == "ln.one_feature_forward")
    return {
        "For one feature the mean is the feature and the variance is zero: layer_norm returns the bias, for every x, weight, bias and "
        "epsilon > 0.",
        "one_feature_layernorm_scalar_contract",
        "that the kernel's rounding leaks into a result that is exact under every order of a centred evaluation: no tolerance is involved.",
        "anything about rows of more than one feature, or which instruction of the kernel is at fault."};
  if (f.law == "ln.one_feature_dx" || f.law == "ln.one_feature_dweight") {
    const bool dx = f.law == "ln.one_feature_dx";
    return {fmt::format("For one feature layer_norm is its bias, whatever x and the weight: {} is zero, for every epsilon > 0.",
                        dx ? "dx" : "dweight"),
            dx ? "one_feature_layernorm_input_grad_contract" : "one_feature_layernorm_scale_grad_contract",
            "that the kernel's rounding leaks into a gradient that is zero under every order of a centred evaluation: no tolerance is "
            "involved.",
            "anything about rows of more than one feature, or which instruction of the kernel is at fault."};
  }
  if (f.failure == FailureClass::kMemory)
    return {"A call reads its inputs and writes every element of its outputs, and nothing else.", "",
            "that the call wrote outside its output, changed an input or left elements unwritten: no number is involved.",
            "that memory beyond the guard zones stays intact, or what a neighbour of the buffer would suffer."};
  if (f.law == "bit.containment")
    return {"A NaN or an infinity in one row changes no bit of another row.", "",
            "that rows are not computed independently of each other's values.",
            "that finite neighbours are harmless, or that they are not."};
  if (f.law == "bit.determinism")
    return {"The same call twice gives the same bits.", "", "that something beside the arguments enters the result.",
            "which of the results is wrong, if any."};
  if (f.verdict == Verdict::kCrashed)
    return {"A call returns.", "", "that this call ends its process.", "whether the same happens in another build or on another machine."};
  if (f.verdict == Verdict::kTimedOut)
    return {"A call returns.", "", "that this call took longer than the limit.", "that it would never return."};
  if (f.verdict == Verdict::kRangeLimit)
    return {"The exact result is finite, and a kernel that scales first reaches it.", "",
            "that a statistic left the range of the accumulation type.",
            "a broken promise: the declared contract allows whatever follows from an overflow."};
  return {fmt::format(
              "Every element is within the error that any kernel keeping the contract '{}' can make on these inputs (docs/error-model.md).",
              f.law),
          "", "that the kernel does not compute the formula with the arithmetic its contract names, whatever the order of its operations.",
          "that the result is useless in practice, or where in the kernel the error arises; a target that declares a weaker contract may "
          "be right by it."};
}

std::string readme_text(const Entry& e, const Programs& programs) {
  const Finding& f = e.finding;
  const Law law = law_of(f);
  std::string out = fmt::format("# {}\n\n{}\n\n", f.slug.empty() ? slug_of(f) : f.slug, f.explanation);
  out += fmt::format("- Target: {}; op: {}; data type: {}\n- Verdict: {} ({}, {})\n\n", e.label, f.op, name_of(f.dtype), name_of(f.verdict),
                     f.law, name_of(f.failure));
  out += fmt::format("## Bug family\n\n{}\n\n", f.bug_family.empty() ? "unknown" : f.bug_family);
  out += "## Bad pattern\n\n";
  if (f.needs.empty())
    out += "Shows on ordinary data: no feature of the case was found to be necessary.\n";
  else
    out += fmt::format("Needs {}: with any of them taken away the failure is gone.\n{}", fmt::join(f.needs, ", "), meanings(f.needs));
  if (!f.admitted_by.empty()) out += fmt::format("The output is {}.\n", f.admitted_by);
  out += fmt::format("\n## Trusted contract\n\n{}: accumulation in {}{}.\n\n", e.contract.name, name_of(e.contract.accumulate),
                     association_text(e));
  out += fmt::format("## Theorem\n\n{}\n\nLean name: {}. The statement with this case's numbers is in contract.lean.\n\n", law.theorem,
                     law.lean.empty() ? "none, a law of this project" : law.lean);
  out += fmt::format("What it proves: {}\n\nWhat it does not prove: {}\n\n", law.proves, law.does_not_prove);
  if (f.shrunk.property) out += runs_text(f.shrunk);
  out += f.shrunk.property ? "## Got, expected by the theorem, allowed\n\n" : "## Got, exact, allowed\n\n";
  out += element_table(e);
  out += "\n## Versions\n\n" + versions_text(e);
  out += "\n## First seen\n\n" + origin_text(e);
  return out + "\n## Reproduce\n\n" + reproduction_text(e, programs);
}

std::string status_text(const Entry& e) {
  const Finding& f = e.finding;
  EntryStatus s;
  s.status = f.status;
  s.verdict = f.verdict;
  s.signature = f.parts();
  if (!f.version.empty()) s.versions = {f.version};
  for (const std::string& v : f.variants) s.variants.push_back(v.empty() ? "default" : v);
  s.isa = observed_isa(e);
  s.first_version = f.version;
  s.first_seed = f.first_seed;
  s.first_index = f.first_index;
  s.first_regime = f.first_regime;
  return write_entry_status(s);
}

}  // namespace normfuzz
