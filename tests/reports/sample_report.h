// A small campaign with one of everything, for the tests of the report formats.
#pragma once

#include <string>

#include "reports/report.h"
#include "tests/harness/sample_campaign.h"

namespace normfuzz::testing {

inline CampaignReport sample_report() {
  CampaignReport r;
  r.seed = 7;
  r.seconds = 12.5;
  r.out_directory = "out";
  const Case ordinary = sample_case(3, DType::kF32, "gaussian"), half = sample_case(5, DType::kF16, "near_max");
  Judgement j;
  j.rows = 4;
  j.elements = 16;
  j.filtered_rows = 3;
  j.unbounded = 4;
  j.worst_ratio = 0.375;
  j.worst_ulps = 1.5;
  r.tally.add("cpu", ordinary, "standard", j, true);
  r.tally.note_ladder("cpu", ordinary, std::vector<std::string_view>{"faithful"});
  j.verdict = Verdict::kContract;
  r.tally.add("mutants:one_pass", ordinary, "standard", j);
  j.verdict = Verdict::kRangeLimit;
  j.range_limited = 2;
  r.tally.add("mutants:one_pass", half, "standard", j);
  j = {};
  j.verdict = Verdict::kUnsupported;
  j.detail = "float16 needs a processor with AVX512_CORE_FP16, and this sentence is far longer than one line of the report has room for";
  r.tally.add("mutants:one_pass", half, "standard", j);
  j.verdict = Verdict::kRejected;
  j.detail = "epsilon 0";
  r.tally.add("cpu", half, "standard", j);
  GradeNotes notes;
  notes.laws["constant_row"] = {5, 2};
  notes.laws["equal_rows"] = {3, 0};
  r.tally.note_laws("cpu", ordinary, notes);
  r.tally.note_bounds(ordinary, "standard", std::vector<ElementEvidence>{{"y", 0, 0, 1, 0x1p-21, 0, ElementVerdict::kWithin}});

  Candidate candidate{"mutants", "one_pass", ordinary, Verdict::kContract, "standard", FailureClass::kWrong, 4};
  r.findings.push_back(sample_finding(candidate));
  candidate.law = "range";
  candidate.verdict = Verdict::kRangeLimit;
  Finding known = sample_finding(candidate);
  known.status = FindingStatus::kKnown;
  r.findings.push_back(known);
  r.targets = {{"cpu", "normfuzz 0.1.0", ""}, {"mutants:one_pass", "0.1.0", ""}, {"torch", "", "not set up, run ./normfuzz setup torch"}};
  return r;
}

}  // namespace normfuzz::testing
