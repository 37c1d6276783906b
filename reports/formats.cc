// The list of report formats. A format is a file reports/NAME.cc that defines `extern const ReportFormat kName`.
#include "reports/formats.h"

#include <filesystem>

#include "core/files.h"
#include "reports/escape.h"

namespace normfuzz {

extern const ReportFormat kHtml, kJunit, kMarkdown, kSarif;

const std::vector<const ReportFormat*>& all_formats() {
  static const std::vector<const ReportFormat*> kFormats = {
      &kHtml,
      &kMarkdown,
      &kJunit,
      &kSarif,
  };
  return kFormats;
}

Status write_report(const ReportFormat& format, const CampaignReport& report, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  fs::path entries = fs::absolute(report.out_directory, error) / "bugzoo";
  if (!error) entries = entries.lexically_normal().lexically_relative(folder.lexically_normal());
  return write_file_atomically(path, format.write(report, uri_path(entries.generic_string())));
}

}  // namespace normfuzz
