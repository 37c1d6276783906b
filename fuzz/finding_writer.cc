#include "fuzz/finding_writer.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "core/files.h"
#include "core/mix_bits.h"
#include "harness/campaign.h"
#include "harness/conclude.h"
#include "harness/recipe/recipe.h"
#include "reports/bugzoo.h"

namespace normfuzz::fuzzing {
namespace {

namespace fs = std::filesystem;

constexpr ShrinkOptions kShrink = {1500, 20};  // a fuzzer waits for it
constexpr std::size_t kMaxSlugBytes = 4096;

std::string file_name_of(const std::string& signature) {
  std::uint64_t h = signature.size();
  for (const char ch : signature) h = mix_bits(h ^ static_cast<unsigned char>(ch));
  return fmt::format("{:016x}", h);
}

std::string element_text(const ElementEvidence& v) {
  return fmt::format("{}[{}]: got {:a}, exact {:a}, allowed {:.3g}, {:.4g} ulps", v.output, v.index, v.got, v.exact, v.allowed, v.ulps);
}

}  // namespace

FindingWriter::FindingWriter(std::string out, std::string family, TargetChoice choice, std::string version)
    : out_(std::move(out)), family_(std::move(family)), choice_(std::move(choice)), version_(std::move(version)) {}

// The entry's directory, or why there is none.
std::string FindingWriter::entry_of(const Case& c, const Examination& e, std::span<const std::uint8_t> bytes) const {
  if (out_ == "none") return "none: none wished for";
  Candidate candidate = candidate_of(choice_, c, e);
  candidate.original.source = fmt::format("libFuzzer driver {}, bytes {}", family_, hex_of(bytes));
  const std::string seen = out_ + "/seen/" + file_name_of(choice_.label() + " " + candidate.rough_signature());
  if (const auto slug = read_file(seen, kMaxSlugBytes)) return out_ + "/bugzoo/" + *slug;
  std::error_code error;
  fs::create_directories(out_ + "/seen", error);
  ConcludeOptions options;
  options.log_path = out_ + "/workers.log";
  options.version = version_;
  options.shrink = kShrink;
  const Finding f = conclude_candidate(candidate, choice_, options);
  if (const Status written = write_entry(f, out_ + "/bugzoo"); !written) return "none: " + written.error();
  if (const Status remembered = write_file_atomically(seen, f.slug); !remembered) return "none: " + remembered.error();
  return out_ + "/bugzoo/" + f.slug;
}

void FindingWriter::report(const Case& c, const Examination& e, std::span<const std::uint8_t> bytes, std::int64_t number) {
  const Judgement& j = e.judgement;
  const RowView rows = find_op(c.op)->rows(c);
  const std::string entry = entry_of(c, e, bytes);
  std::string text = fmt::format("\nnormfuzz: a finding of driver {}, case {} of this process\n", family_, number);
  const auto line = [&](std::string_view name, const std::string& value) { text += fmt::format("  {:<9}{}\n", name, value); };
  line("target", choice_.label() + " " + version_);
  line("op", fmt::format("{} {}, {} x {}, epsilon {:a}, regime {}", c.op, name_of(c.dtype()), rows.rows(), rows.cols(), c.epsilon(),
                         c.provenance ? c.provenance->regime : "unknown"));
  line("verdict", fmt::format("{} ({}), class {}", name_of(j.verdict), j.law, name_of(j.failure)));
  if (!j.detail.empty()) line("detail", j.detail);
  if (!j.evidence.empty()) line("element", element_text(j.evidence[0]));
  line("bytes", hex_of(bytes));
  line("entry", entry);
  const bool by_path = choice_.target.by_path;
  if (!entry.starts_with("none"))
    line("again", fmt::format("./normfuzz repro {} --target {}", entry, by_path ? choice_.target.module_path : choice_.label()));
  std::fputs(text.c_str(), stderr);
}

}  // namespace normfuzz::fuzzing
