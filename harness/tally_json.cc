// A tally as text and back (harness/tally.h).
#include <charconv>

#include "harness/record.h"
#include "harness/tally.h"

namespace normfuzz {
namespace {

std::string write(const CaseRef& ref) { return RecordWriter('[').unsigned_integer("", ref.seed).unsigned_integer("", ref.index).finish(); }

std::string write(const Worst& w) {
  return w.value > 0 ? RecordWriter().number("value", w.value).raw("where", write(w.where)).finish() : "";
}

std::string write(const ReasonCounts& reasons) {
  RecordWriter named;
  for (const auto& [reason, count] : reasons.named()) named.integer(reason, count);
  return RecordWriter().raw_unless_empty("named", named.finish()).integer_unless_zero("other", reasons.other()).finish();
}

std::string write(const std::map<std::string, Seen>& rungs) {
  RecordWriter out;
  for (const auto& [rung, seen] : rungs)
    out.raw(rung, RecordWriter().integer("count", seen.count).raw("first", write(seen.first)).finish());
  return out.finish();
}

std::string write(const std::map<std::string, LawCounts>& laws) {
  RecordWriter out;
  for (const auto& [law, counts] : laws)
    out.raw(law, RecordWriter().integer("held", counts.held).integer("broken", counts.broken).finish());
  return out.finish();
}

std::string write(const std::map<std::string, ErrorMap::Point>& points) {
  RecordWriter out;
  for (const auto& [regime, p] : points) out.raw(regime, RecordWriter('[').integer("", p.ratio).integer("", p.ulps).finish());
  return out.finish();
}

std::string write(const ErrorMap::Spread& spread) {
  RecordWriter out;
  for (const auto& [key, octaves] : spread) {
    RecordWriter cases;
    for (const auto& [octave, count] : octaves) cases.integer(std::to_string(octave), count);
    out.raw(std::to_string(key), cases.finish());
  }
  return out.finish();
}

std::string write(const ErrorMap& e) {
  RecordWriter out;
  out.raw_unless_empty("kept", write(e.kept)).raw_unless_empty("broken", write(e.broken));
  return out.raw_unless_empty("width", write(e.by_width)).raw_unless_empty("scale", write(e.by_scale)).finish();
}

std::string write(const TallyKey& key, const OpTally& t) {
  RecordWriter verdicts;
  for (std::size_t i = 0; i < kVerdicts; ++i) verdicts.integer_unless_zero(name_of(static_cast<Verdict>(i)), t.verdicts[i]);
  RecordWriter out;
  out.text("target", key.target).text("op", key.op).text("dtype", name_of(key.dtype)).raw("verdicts", verdicts.finish());
  out.integer_unless_zero("rows", t.rows).integer_unless_zero("elements", t.elements).integer_unless_zero("unbounded", t.unbounded);
  out.integer_unless_zero("range_limited", t.range_limited).integer_unless_zero("filtered_rows", t.filtered_rows);
  out.integer_unless_zero("mpfr_rows", t.mpfr_rows).integer_unless_zero("audited_rows", t.audited_rows);
  out.raw_unless_empty("unsupported", write(t.unsupported)).raw_unless_empty("rejected", write(t.rejected));
  out.raw_unless_empty("ratio", write(t.ratio)).raw_unless_empty("ulps", write(t.ulps));
  if (t.first_range_limit) out.raw("first_range_limit", write(*t.first_range_limit));
  out.integer_unless_zero("ladder_cases", t.ladder_cases).raw_unless_empty("broken_rungs", write(t.broken_rungs));
  return out.raw_unless_empty("laws", write(t.laws)).raw_unless_empty("errors", write(t.errors)).finish();
}

std::string write(const BoundKey& key, const BoundShare& share) {
  RecordWriter histogram;
  for (const auto& [bucket, count] : share.histogram) histogram.integer(std::to_string(bucket), count);
  RecordWriter out;
  out.text("op", key.op).text("dtype", name_of(key.dtype)).text("contract", key.contract).integer("special", key.special);
  out.integer_unless_zero("elements", share.elements).integer_unless_zero("unbounded", share.unbounded);
  out.integer_unless_zero("sampled_unbounded", share.sampled_unbounded);
  return out.raw_unless_empty("histogram", histogram.finish()).finish();
}

std::string write(const PropertyKey& key, const PropertyTally& t) {
  RecordWriter out;
  out.text("id", key.id).text("target", key.target).integer("tried", t.tried).integer("met", t.met);
  out.integer_unless_zero("violations", t.violations).integer_unless_zero("unclaimed", t.unclaimed);
  if (t.first.count > 0) out.integer("broken", t.first.count).raw("first", write(t.first.first));
  return out.finish();
}

std::string write(const CoverageKey& key, std::int64_t count) {
  RecordWriter out('[');
  out.text("", key.regime).integer("", key.octave).integer("", key.several_rows);
  return out.integer("", count).finish();
}

CaseRef read_ref(RecordReader& in, const JsonValue& object, std::string_view field) {
  std::uint64_t parts[2] = {};
  std::size_t n = 0;
  in.each(object, field, JsonKind::kArray, [&](const JsonValue& v) {
    if (n < 2 && (v.kind() == JsonKind::kUnsigned || (v.kind() == JsonKind::kInteger && v.integer() >= 0)))
      parts[n] = v.unsigned_integer();
    else
      in.fail(field, v, "two integers >= 0");
    ++n;
  });
  if (n != 2) in.fail(std::string(field) + ": expected [seed, index]");
  return {parts[0], parts[1]};
}

Worst read_worst(RecordReader& in, const JsonValue& object, std::string_view field) {
  const auto v = object.find(field);
  return v ? Worst{in.number(*v, "value"), read_ref(in, *v, "where")} : Worst{};
}

DType read_dtype(RecordReader& in, const JsonValue& object) {
  const std::string name = in.text(object, "dtype");
  const auto dtype = dtype_from_name(name);
  if (!dtype) in.fail("dtype: \"" + name + "\", expected f64, f32, f16 or bf16");
  return dtype.value_or(DType::kF32);
}

std::int64_t read_count(RecordReader& in, const JsonValue& v) {
  if (v.kind() == JsonKind::kInteger) return v.integer();
  in.fail(v.key(), v, "a count");
  return 0;
}

ReasonCounts read_reasons(RecordReader& in, const JsonValue& object, std::string_view field) {
  ReasonCounts reasons;
  const auto v = object.find(field);
  if (!v) return reasons;
  in.each(*v, "named", JsonKind::kObject, [&](const JsonValue& n) { reasons.add(n.key(), read_count(in, n)); });
  reasons.add_other(in.integer(*v, "other"));
  return reasons;
}

// A member's name as a number.
int read_number(RecordReader& in, std::string_view field, std::string_view key) {
  int number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error != std::errc{} || end != key.data() + key.size()) in.fail(std::string(field) + ": " + in_quotes(key) + ", expected a number");
  return number;
}

void read_points(RecordReader& in, const JsonValue& errors, std::string_view field, std::map<std::string, ErrorMap::Point>& points) {
  in.each(errors, field, JsonKind::kObject, [&](const JsonValue& v) {
    if (v.kind() != JsonKind::kArray || v.count() != 2) return in.fail(field, v, "[ratio, ulps]");
    const JsonValue ratio = v.first();
    points[std::string(v.key())] = {static_cast<int>(read_count(in, ratio)), static_cast<int>(read_count(in, ratio.next()))};
  });
}

ErrorMap read_errors(RecordReader& in, const JsonValue& entry) {
  ErrorMap e;
  const auto v = entry.find("errors");
  if (!v) return e;
  read_points(in, *v, "kept", e.kept);
  read_points(in, *v, "broken", e.broken);
  const auto read = [&](std::string_view field, ErrorMap::Spread& spread) {
    in.each(*v, field, JsonKind::kObject, [&](const JsonValue& octaves) {
      if (octaves.kind() != JsonKind::kObject) return in.fail(field, octaves, "cases by octave");
      auto& cases = spread[read_number(in, field, octaves.key())];
      in.each(*v->find(field), octaves.key(), JsonKind::kObject,
              [&](const JsonValue& n) { cases[read_number(in, field, n.key())] = read_count(in, n); });
    });
  };
  read("width", e.by_width);
  read("scale", e.by_scale);
  return e;
}

void read_verdicts(RecordReader& in, const JsonValue& entry, OpTally& t) {
  in.each(entry, "verdicts", JsonKind::kObject, [&](const JsonValue& v) {
    for (std::size_t i = 0; i < kVerdicts; ++i)
      if (name_of(static_cast<Verdict>(i)) == v.key()) {
        t.verdicts[i] = read_count(in, v);
        return;
      }
    in.fail("verdicts: " + in_quotes(v.key()) + ", expected the name of a verdict");
  });
}

void read_entry(RecordReader& in, const JsonValue& entry, Tally& tally) {
  OpTally& t = tally.entries[{in.text(entry, "target"), in.text(entry, "op"), read_dtype(in, entry)}];
  if (!in.ok()) return;
  read_verdicts(in, entry, t);
  t.rows = in.integer(entry, "rows");
  t.elements = in.integer(entry, "elements");
  t.unbounded = in.integer(entry, "unbounded");
  t.range_limited = in.integer(entry, "range_limited");
  t.filtered_rows = in.integer(entry, "filtered_rows");
  t.mpfr_rows = in.integer(entry, "mpfr_rows");
  t.audited_rows = in.integer(entry, "audited_rows");
  t.unsupported = read_reasons(in, entry, "unsupported");
  t.rejected = read_reasons(in, entry, "rejected");
  t.ratio = read_worst(in, entry, "ratio");
  t.ulps = read_worst(in, entry, "ulps");
  if (entry.find("first_range_limit")) t.first_range_limit = read_ref(in, entry, "first_range_limit");
  t.ladder_cases = in.integer(entry, "ladder_cases");
  in.each(entry, "broken_rungs", JsonKind::kObject, [&](const JsonValue& v) {
    t.broken_rungs[std::string(v.key())] = {in.integer(v, "count"), read_ref(in, v, "first")};
  });
  in.each(entry, "laws", JsonKind::kObject, [&](const JsonValue& v) {
    t.laws[std::string(v.key())] = {in.integer(v, "held"), in.integer(v, "broken")};
  });
  t.errors = read_errors(in, entry);
}

void read_share(RecordReader& in, const JsonValue& v, Tally& tally) {
  BoundShare& share = tally.bounds[{in.text(v, "op"), read_dtype(in, v), in.text(v, "contract"), in.integer(v, "special") != 0}];
  share.elements = in.integer(v, "elements");
  share.unbounded = in.integer(v, "unbounded");
  share.sampled_unbounded = in.integer(v, "sampled_unbounded");
  in.each(v, "histogram", JsonKind::kObject,
          [&](const JsonValue& n) { share.histogram[read_number(in, "histogram", n.key())] = read_count(in, n); });
}

void read_property(RecordReader& in, const JsonValue& v, Tally& tally) {
  PropertyTally& t = tally.properties[{in.text(v, "id"), in.text(v, "target")}];
  t.tried = in.integer(v, "tried");
  t.met = in.integer(v, "met");
  t.violations = in.integer(v, "violations");
  t.unclaimed = in.integer(v, "unclaimed");
  if (v.find("first")) t.first = {in.integer(v, "broken"), read_ref(in, v, "first")};
}

void read_coverage(RecordReader& in, const JsonValue& v, Tally& tally) {
  if (v.kind() != JsonKind::kArray || v.count() != 4 || v.first().kind() != JsonKind::kString)
    return in.fail("coverage", v, "[regime, octave, several rows, cases]");
  const JsonValue regime = v.first(), octave = regime.next(), rows = octave.next();
  tally.coverage[{std::string(regime.text()), static_cast<int>(read_count(in, octave)), read_count(in, rows) != 0}] =
      read_count(in, rows.next());
}

}  // namespace

std::string write_tally(const Tally& tally) {
  RecordWriter entries('['), bounds('['), properties('['), coverage('[');
  for (const auto& [key, entry] : tally.entries) entries.raw("", write(key, entry));
  for (const auto& [key, share] : tally.bounds) bounds.raw("", write(key, share));
  for (const auto& [key, property] : tally.properties) properties.raw("", write(key, property));
  for (const auto& [key, count] : tally.coverage) coverage.raw("", write(key, count));
  RecordWriter out;
  out.raw("entries", entries.finish()).raw("bounds", bounds.finish()).raw("properties", properties.finish());
  return out.raw_unless_empty("coverage", coverage.finish()).finish();
}

Result<Tally> parse_tally(std::string_view json, std::string_view name) {
  const auto document = JsonDocument::parse(json, name);
  if (!document) return Error{document.error()};
  Tally tally;
  RecordReader in{std::string(name)};
  in.each(document->root(), "entries", JsonKind::kArray, [&](const JsonValue& v) { read_entry(in, v, tally); });
  in.each(document->root(), "bounds", JsonKind::kArray, [&](const JsonValue& v) { read_share(in, v, tally); });
  in.each(document->root(), "properties", JsonKind::kArray, [&](const JsonValue& v) { read_property(in, v, tally); });
  in.each(document->root(), "coverage", JsonKind::kArray, [&](const JsonValue& v) { read_coverage(in, v, tally); });
  if (!in.ok()) return Error{in.error()};
  return tally;
}

}  // namespace normfuzz
