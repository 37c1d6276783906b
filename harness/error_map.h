// Where the errors of a target lie, for the pictures of a report: the worst of each regime, and how they are spread over widths
// and scales. Kept in octaves and quarters of them, so that a cell takes a few bytes of the store. Part of a tally: merging is associative
// and commutative.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "core/case.h"
#include "harness/judge.h"
#include "harness/quarter_octave.h"

namespace normfuzz {

// What the pictures sort a case by; the same for all targets.
struct CaseClass {
  int width = 0;              // of n columns: 2 floor(log2 n), and 1 more unless n is a power of two
  bool several_rows = false;  // more than one
  int scale = 0;              // floor(log2 max |x| / scale_step); kBucketOfZero: all zero; kBucketOfInfinity: not all finite
};
CaseClass class_of(const Case& c, const CaseRows& rows);

// Octaves in one class of scales: the types' ranges differ, their pictures have about as many points.
int scale_step(DType dtype);

struct ErrorMap {
  // The case with the largest error/bound of its kind: of two with equal ones, the larger error.
  struct Point {
    int ratio = kBucketOfZero, ulps = kBucketOfZero;
    auto operator<=>(const Point&) const = default;
  };
  std::map<std::string, Point> kept, broken;  // by regime: within the bound; the worst element beyond it (a law's bound is 0)
  // Class -> octave of the largest error in ulps that kept its bound -> cases.
  using Spread = std::map<int, std::map<int, std::int64_t>>;
  Spread by_width, by_scale;

  void note(const Case& c, const CaseClass& where, const Judgement& j);
  void merge(const ErrorMap& other);
  bool operator==(const ErrorMap&) const = default;
};

}  // namespace normfuzz
