// got / exact / allowed / ulps of output elements, for repro and check.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "harness/judge.h"

namespace normfuzz {

// Elements above this many are not listed one by one: only those that the judgement keeps as evidence.
inline constexpr std::int64_t kMostListedElements = 65536;

// What a command lists for one outcome: every element, or the judge's evidence where that is too much or no element tells the story
// (determinism, containment: the runs differ, each may be within its bound).
std::vector<ElementEvidence> listed_elements(CaseJudge& judge, const Outcome& outcome, const Judgement& judgement,
                                             const Contract& contract);

// The dtype among those of the outputs that needs the most digits.
DType widest_output(const Outcome& outcome);

// The worst `limit` elements, worst first: beyond the bound before within it, then by error over bound. Says how many are left out.
std::string element_table(const std::vector<ElementEvidence>& elements, DType storage, std::size_t limit);

// "certified; largest error 0.31 of its bound, 0.52 ulps", "theorem ln.one_feature_forward: ...".
std::string verdict_line(const Judgement& judgement, const std::string& contract);

}  // namespace normfuzz
