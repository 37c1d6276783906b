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

  j = {};
  j.worst_ratio = 0.375;
  j.worst_ulps = 1.5;
  r.tally.note_errors("cpu", ordinary, {4, false, 0}, j);
  j.worst_ulps = 12;
  r.tally.note_errors("mutants:one_pass", half, {9, true, -1}, j);
  j.verdict = Verdict::kContract;
  j.evidence = {{"y", 0, 3, 1, 0.5, 8, ElementVerdict::kViolation}};
  r.tally.note_errors("mutants:one_pass", ordinary, {4, false, 0}, j);
  r.tally.note_coverage(ordinary, {4, false, 0});
  r.tally.note_coverage(half, {9, true, -1});
  r.tally.note_property("cpu", ordinary, {"ln.constant_row", true, false, true, ""});
  r.tally.note_property("mutants:one_pass", ordinary, {"ln.constant_row", true, true, true, "y[0]"});

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

// The sample without a new finding, and with an entry of an earlier run of each state.
inline CampaignReport report_of_entries() {
  CampaignReport r = sample_report();
  r.findings[0].status = FindingStatus::kKnown;
  r.announcements = {{"slug-new", "cpu", EntryState::kNew, "is back on cpu 1.0", "corpus/bugzoo/slug-new"},
                     {"slug-known", "cpu", EntryState::kKnown, "reproduces on cpu 1.0", "corpus/bugzoo/slug-known"},
                     {"slug-fixed", "cpu", EntryState::kFixed, "no longer reproduces on cpu 1.0", "corpus/bugzoo/slug-fixed"},
                     {"slug-other", "mine", EntryState::kNotApplicable, "does not run", "corpus/bugzoo/slug-other"}};
  return r;
}

// What a target may say, at worst: markup, quotes, control characters, bytes that are no UTF-8, text that runs backwards.
inline constexpr const char* kHostile =
    "<script>alert(1)</script> </details> --> ]]> & \"double\" 'single' | `code` **bold** @everyone #1 https://example.org \x01\x1b[31m "
    "\xff\xfe \xe2\x82 \xed\xa0\x80 \xe2\x80\xae \xef\xbf\xbf\n# heading\n|-|\ttab";

// The sample with that in every text that comes from outside.
inline CampaignReport hostile_report() {
  CampaignReport r = sample_report();
  for (Finding& f : r.findings) {
    for (std::string* text : {&f.version, &f.explanation, &f.admitted_by, &f.bug_family, &f.first_regime, &f.judgement.detail})
      *text = kHostile;
    f.variants = {kHostile};
    f.needs = {kHostile};
    f.law = f.law + kHostile;
    f.slug = f.slug + kHostile;
  }
  for (const EntryState state : {EntryState::kNew, EntryState::kFixed, EntryState::kNotApplicable})
    r.announcements.push_back({kHostile + std::string(name_of(state)), kHostile, state, kHostile, kHostile});
  r.targets.push_back({kHostile, kHostile, ""});
  r.targets.push_back({kHostile, "", kHostile});
  r.out_directory = std::string("out ") + kHostile;
  const auto any = r.tally.entries.begin();
  OpTally& t = r.tally.entries[{kHostile, kHostile, DType::kF32}] = any->second;
  t.laws[kHostile] = {1, 1};
  t.rejected.add(kHostile);
  t.broken_rungs[kHostile] = {1, {}};
  t.errors.kept[kHostile] = {1, 2};
  r.tally.coverage[{kHostile, 3, true}] = 5;
  r.previous = PreviousCampaign{kHostile, 3, r.findings};
  return r;
}

}  // namespace normfuzz::testing
