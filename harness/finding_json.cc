#include "harness/finding_json.h"

#include "core/case_io.h"
#include "harness/record.h"

namespace normfuzz {
namespace {

constexpr ElementVerdict kElementVerdicts[] = {ElementVerdict::kWithin, ElementVerdict::kViolation, ElementVerdict::kLimit,
                                               ElementVerdict::kUndecided};

constexpr std::size_t kOutcomeKinds = static_cast<std::size_t>(OutcomeKind::kTimedOut) + 1;

std::string write(const ElementEvidence& e) {
  RecordWriter out;
  out.text("output", e.output).integer("index", e.index).number("got", e.got).number("exact", e.exact);
  out.number("allowed", e.allowed).number("ulps", e.ulps);
  return out.integer("verdict", static_cast<std::int64_t>(e.verdict)).finish();
}

ElementEvidence read_evidence(RecordReader& in, const JsonValue& v) {
  ElementEvidence e{in.text(v, "output"),
                    in.integer(v, "index"),
                    in.number(v, "got"),
                    in.number(v, "exact"),
                    in.number(v, "allowed"),
                    in.number(v, "ulps"),
                    {}};
  const std::int64_t verdict = in.integer(v, "verdict");
  if (verdict < 0 || verdict >= std::ssize(kElementVerdicts))
    in.fail("verdict: " + std::to_string(verdict) + ", expected 0 to 3");
  else
    e.verdict = kElementVerdicts[verdict];
  return e;
}

std::string write(const Judgement& j) {
  RecordWriter evidence('[');
  for (const ElementEvidence& e : j.evidence) evidence.raw("", write(e));
  RecordWriter out;
  out.text("verdict", name_of(j.verdict)).text("law", j.law).text("failure", name_of(j.failure)).text("detail", j.detail);
  out.integer("rows", j.rows).integer("elements", j.elements).integer("filtered_rows", j.filtered_rows).integer("unbounded", j.unbounded);
  out.integer("violations", j.violations).integer("range_limited", j.range_limited);
  out.number("worst_ratio", j.worst_ratio).number("worst_ulps", j.worst_ulps);
  return out.raw("evidence", evidence.finish()).finish();
}

Judgement read_judgement(RecordReader& in, const JsonValue& v) {
  Judgement j;
  j.verdict = in.choice<Verdict>(v, "verdict", kVerdicts);
  j.law = in.text(v, "law");
  j.failure = in.choice<FailureClass>(v, "failure", kFailureClasses);
  j.detail = in.text(v, "detail");
  j.rows = in.integer(v, "rows");
  j.elements = in.integer(v, "elements");
  j.filtered_rows = in.integer(v, "filtered_rows");
  j.unbounded = in.integer(v, "unbounded");
  j.violations = in.integer(v, "violations");
  j.range_limited = in.integer(v, "range_limited");
  j.worst_ratio = in.number(v, "worst_ratio");
  j.worst_ulps = in.number(v, "worst_ulps");
  in.each(v, "evidence", JsonKind::kArray, [&](const JsonValue& e) { j.evidence.push_back(read_evidence(in, e)); });
  return j;
}

std::string write(const MemoryReport& m) {
  RecordWriter out;
  out.text_unless_empty("changed_input", m.changed_input).text_unless_empty("overrun", m.overrun);
  out.text_unless_empty("unwritten_output", m.unwritten_output).integer_unless_zero("unwritten_elements", m.unwritten_elements);
  return out.text_unless_empty("detail", m.detail).finish();
}

MemoryReport read_memory(RecordReader& in, const JsonValue& v) {
  return {in.text(v, "changed_input"), in.text(v, "overrun"), in.text(v, "unwritten_output"), in.integer(v, "unwritten_elements"),
          in.text(v, "detail")};
}

// The outputs travel as the inputs of a case: a case file is the one text form that tensors have.
std::string write(const Outcome& o) {
  Case outputs;
  outputs.op = "outputs";
  for (const auto& [name, tensor] : o.outputs) outputs.inputs.emplace_back(name, tensor);
  RecordWriter out;
  out.text("kind", name_of(o.kind)).text("message", o.message).integer("signal", o.signal).integer("exit_status", o.exit_status);
  out.number("microseconds", o.microseconds).raw("memory", write(o.memory));
  if (!o.outputs.empty()) out.text("outputs", write_case(outputs));
  return out.finish();
}

Case read_case_text(RecordReader& in, const JsonValue& object, std::string_view field) {
  auto c = parse_case(in.text(object, field), in.name() + ": " + std::string(field));
  if (c) return std::move(*c);
  if (in.ok()) in.fail(c.error());
  return {};
}

Outcome read_outcome(RecordReader& in, const JsonValue& v) {
  Outcome o;
  o.kind = in.choice<OutcomeKind>(v, "kind", kOutcomeKinds);
  o.message = in.text(v, "message");
  o.signal = static_cast<int>(in.integer(v, "signal"));
  o.exit_status = static_cast<int>(in.integer(v, "exit_status"));
  o.microseconds = in.number(v, "microseconds");
  if (const auto memory = v.find("memory")) o.memory = read_memory(in, *memory);
  if (!v.find("outputs")) return o;
  for (auto& [name, tensor] : read_case_text(in, v, "outputs").inputs)
    if (tensor) o.outputs.emplace_back(name, std::move(*tensor));
  return o;
}

}  // namespace

std::string write_finding(const Finding& f) {
  RecordWriter out;
  out.text("slug", f.slug).text("target", f.target).text("variant", f.variant).text("version", f.version);
  out.texts("variants", f.variants).text("op", f.op).text("law", f.law).text("dtype", name_of(f.dtype));
  out.text("verdict", name_of(f.verdict)).text("failure", name_of(f.failure)).texts("needs", f.needs);
  out.text("explanation", f.explanation).text("admitted_by", f.admitted_by).text("bug_family", f.bug_family);
  out.text("shrunk", write_case(f.shrunk)).raw("judgement", write(f.judgement)).raw("outcome", write(f.outcome));
  out.integer("occurrences", f.occurrences).unsigned_integer("first_seed", f.first_seed).unsigned_integer("first_index", f.first_index);
  return out.text("first_regime", f.first_regime).text("status", name_of(f.status)).text("status_note", f.status_note).finish();
}

Result<Finding> parse_finding(std::string_view json, std::string_view name) {
  const auto document = JsonDocument::parse(json, name);
  if (!document) return Error{document.error()};
  const JsonValue v = document->root();
  RecordReader in{std::string(name)};
  Finding f;
  f.slug = in.text(v, "slug");
  if (!in.ok()) return Error{in.error()};
  f.target = in.text(v, "target");
  f.variant = in.text(v, "variant");
  f.version = in.text(v, "version");
  f.variants = in.texts(v, "variants");
  f.op = in.text(v, "op");
  f.law = in.text(v, "law");
  f.dtype = in.choice<DType>(v, "dtype", std::size(kAllDTypes));
  f.verdict = in.choice<Verdict>(v, "verdict", kVerdicts);
  f.failure = in.choice<FailureClass>(v, "failure", kFailureClasses);
  f.needs = in.texts(v, "needs");
  f.explanation = in.text(v, "explanation");
  f.admitted_by = in.text(v, "admitted_by");
  f.bug_family = in.text(v, "bug_family");
  f.shrunk = read_case_text(in, v, "shrunk");
  if (const auto judgement = v.find("judgement")) f.judgement = read_judgement(in, *judgement);
  if (const auto outcome = v.find("outcome")) f.outcome = read_outcome(in, *outcome);
  f.occurrences = in.integer(v, "occurrences");
  f.first_seed = in.unsigned_integer(v, "first_seed");
  f.first_index = in.unsigned_integer(v, "first_index");
  f.first_regime = in.text(v, "first_regime");
  f.status = in.choice<FindingStatus>(v, "status", kFindingStatuses);
  f.status_note = in.text(v, "status_note");
  if (!in.ok()) return Error{in.error()};
  return f;
}

std::string write_settings(const CampaignSettings& s) {
  RecordWriter out;
  out.unsigned_integer("seed", s.seed).integer("generator_version", s.generator_version).unsigned_integer("block_size", s.block_size);
  out.integer("shard", s.shard).integer("shards", s.shards).texts("ops", s.ops).texts("dtypes", s.dtypes);
  return out.texts("targets", s.targets).text("options", s.options).finish();
}

Result<CampaignSettings> parse_settings(std::string_view json, std::string_view name) {
  const auto document = JsonDocument::parse(json, name);
  if (!document) return Error{document.error()};
  const JsonValue v = document->root();
  RecordReader in{std::string(name)};
  CampaignSettings s;
  s.seed = in.unsigned_integer(v, "seed");
  s.generator_version = static_cast<int>(in.integer(v, "generator_version"));
  s.block_size = in.unsigned_integer(v, "block_size");
  s.shard = static_cast<int>(in.integer(v, "shard"));
  s.shards = static_cast<int>(in.integer(v, "shards"));
  s.ops = in.texts(v, "ops");
  s.dtypes = in.texts(v, "dtypes");
  s.targets = in.texts(v, "targets");
  s.options = in.text(v, "options");
  if (!in.ok()) return Error{in.error()};
  return s;
}

}  // namespace normfuzz
