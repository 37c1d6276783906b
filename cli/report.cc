// normfuzz report: a stored campaign once more, in any format.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/campaign_report.h"
#include "cli/command.h"
#include "harness/store.h"
#include "reports/json.h"
#include "reports/text.h"

namespace normfuzz {
namespace {

struct Options {
  std::string campaign = "out";
  ReportFiles files;
  bool json = false;
};

// The directory of a campaign that was given as one, or as its .db file.
std::string directory_of(const std::string& campaign) {
  namespace fs = std::filesystem;
  if (fs::path(campaign).extension() != ".db") return campaign;
  const fs::path parent = fs::path(campaign).parent_path();
  return parent.empty() ? "." : parent.string();
}

Result<ExitStatus> run(const Options& o) {
  const auto store = Store::open_for_reading(o.campaign);
  if (!store) return Error{store.error()};
  auto report = report_of(*store, directory_of(o.campaign));
  if (!report) return Error{report.error()};
  if (const auto status = write_report_files(o.files, *report); !status) return Error{status.error()};
  if (o.json)
    fmt::print("{}\n", run_json(*report));
  else if (!o.files.any())
    fmt::print("{}", campaign_text(*report, isatty(STDOUT_FILENO)));
  return ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  const auto o = std::make_shared<Options>();
  options.text("DIR", o->campaign, "the campaign: the --out directory of a run, or a .db file");
  declare_report_files(options, o->files);
  options.flag("--json", o->json, "print one JSON object");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kReport;
const Command kReport = {
    "report",
    "Show a stored campaign: as text, HTML, Markdown, JUnit XML or SARIF",
    "  normfuzz report\n"
    "  normfuzz report nightly --html report.html --previous nightly-yesterday\n"
    "  normfuzz report nightly --junit junit.xml --sarif normfuzz.sarif --markdown comment.md",
    declare,
};

}  // namespace normfuzz
