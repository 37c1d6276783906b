#include "fuzz/session.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "fuzz/driver.h"
#include "fuzz/guidance.h"
#include "harness/recipe/build_case.h"
#include "harness/run/in_process_worker.h"
#include "harness/run/paths.h"

namespace normfuzz::fuzzing {
namespace {

// By the draw, so that an input always gets the same.
constexpr std::uint32_t kRepeatEvery = 8;  // run twice and compare bits
constexpr std::uint32_t kAuditEvery = 16;  // put filter-certified rows to MPFR

std::string variable(const char* name, std::string_view fallback) {
  const char* value = std::getenv(name);
  return std::string(value != nullptr && *value != '\0' ? value : fallback);
}

Result<TargetChoice> choose_target(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (text.find('/') == std::string::npos) {
    const auto known = load_targets(worker_directory() + "/targets");
    if (!known) return Error{known.error()};
    const auto chosen = choose_targets(*known, text);
    if (!chosen) return Error{chosen.error()};
    return chosen->front();
  }
  const std::string variant = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto target = load_target_file(text.substr(0, colon));
  if (!target) return Error{target.error()};
  for (const Variant& v : target->variants)
    if (v.name == variant) return TargetChoice(*target, v);
  return Error{"target '" + text + "': its manifest has no variant '" + variant + "'"};
}

}  // namespace

Result<SessionOptions> options_from_environment() {
  SessionOptions o;
  o.target = variable("NORMFUZZ_FUZZ_TARGET", o.target);
  o.out = variable("NORMFUZZ_FUZZ_OUT", o.out);
  o.keep_going = variable("NORMFUZZ_FUZZ_KEEP_GOING", "0") == "1";
  const std::string worker = variable("NORMFUZZ_FUZZ_WORKER", "in_process"), guidance = variable("NORMFUZZ_FUZZ_GUIDANCE", "all");
  if (worker != "in_process" && worker != "process") return Error{"NORMFUZZ_FUZZ_WORKER: '" + worker + "', expected in_process or process"};
  o.own_process = worker == "process";
  if (guidance != "all" && guidance != "coverage" && guidance != "none")
    return Error{"NORMFUZZ_FUZZ_GUIDANCE: '" + guidance + "', expected all, coverage or none"};
  o.guidance = guidance == "all" ? Guidance::kAll : guidance == "coverage" ? Guidance::kCoverage : Guidance::kNone;
  return o;
}

Session::Session(const Family& family, SessionOptions options, TargetChoice choice)
    : family_(family), options_(std::move(options)), choice_(std::move(choice)) {}

Result<std::unique_ptr<Session>> Session::open(const Family& family, const SessionOptions& options) {
  auto choice = choose_target(options.target);
  if (!choice) return Error{choice.error()};
  std::unique_ptr<Session> s(new Session(family, options, std::move(*choice)));
  s->worker_ = options.own_process ? Worker::create(s->choice_, {}) : create_in_process_worker(s->choice_);
  const auto version = s->worker_->version();
  if (!version) return Error{"target '" + options.target + "': " + version.error()};
  s->findings_ = std::make_unique<FindingWriter>(options.out, std::string(family.name), s->choice_, *version);
  s->title_ = fmt::format("driver {} on {} {}, {}", family.name, s->choice_.label(), *version,
                          options.own_process ? "in its own process" : "in process");
  return s;
}

// A theorem about the oracle or about indices that does not hold is a bug of this program.
bool Session::ask_without_kernel(const Case& c, std::span<const std::uint8_t> bytes) {
  const Property* p = c.property ? find_property(c.property->id) : nullptr;
  if (!p || !p->needs_no_kernel()) return true;
  const PropertyResult r = check_without_kernel(*p, c, c.property->args);
  if (r.state != PropertyResult::State::kBroken) return true;
  fmt::print(stderr, "normfuzz: {} does not hold of the oracle: {}; bytes {}\n", p->id, r.detail, hex_of(bytes));
  return false;
}

bool Session::run(std::span<const std::uint8_t> bytes) {
  ++cases_;
  const Recipe recipe = decode(bytes);
  const Case c = build_case(family_, recipe);
  if (const Status valid = validate(c); !valid) {
    fmt::print(stderr, "normfuzz: bytes {} give an invalid case: {}\n", hex_of(bytes), valid.error());
    require(false, "the mapping from bytes to cases is not total");
  }
  const bool guided = options_.guidance == Guidance::kAll;
  const CaseTraits traits = guided ? traits_of(c) : CaseTraits{};
  if (guided) note_case(c, traits);
  require(ask_without_kernel(c, bytes), "a theorem about the oracle is broken");
  const ExamineOptions examine_options{recipe.draw % kRepeatEvery == 0, true, recipe.draw % kAuditEvery == 1};
  const Examination e = std::move(examine(*worker_, choice_.target, {&c, 1}, examine_options).front());
  if (guided) note_result(c, traits, e);
  if (!e.contradiction.empty()) fmt::print(stderr, "normfuzz: {}; bytes {}\n", e.contradiction, hex_of(bytes));
  require(e.contradiction.empty(), "the filter and MPFR contradict each other");
  if (!is_violation(e.judgement.verdict)) return true;
  findings_->report(c, e, bytes, cases_);
  return false;
}

}  // namespace normfuzz::fuzzing
