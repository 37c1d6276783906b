// The stand-alone Python program of an entry: write_repro.py makes it from the target's own source, or from repro.py in the folder of a
// target that is not written in Python.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "core/case_io.h"
#include "core/json_document.h"
#include "harness/run/paths.h"
#include "harness/run/process.h"
#include "oracles/ops/op.h"
#include "reports/bugzoo_entry.h"

namespace normfuzz {
namespace {

constexpr std::size_t kMaxProgramBytes = 1 << 20;
constexpr std::chrono::seconds kTimeLimit{30};

std::string json_text(std::string_view s) {
  std::string out;
  append_json_string(out, s);
  return out;
}

std::string object_of(const std::map<std::string, std::string>& members) {
  std::string out;
  for (const auto& [name, value] : members) out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", json_text(name), json_text(value));
  return "{" + out + "}";
}

std::string_view name_of(Shows s) { return s == Shows::kReturn ? "return" : s == Shows::kRepeat ? "repeat" : "values"; }

// What write_repro.py reads. The layouts of the outputs stand in the case, as tensors of zeros.
std::string description(const Entry& e) {
  Case c = e.finding.shrunk;
  std::string outputs;
  c.expect.clear();
  for (auto& [name, tensor] : find_op(c.op)->output_layouts(c)) {
    outputs += (outputs.empty() ? "" : ", ") + json_text(name);
    c.expect[name] = std::move(tensor);
  }
  std::map<std::string, std::string> expected;
  for (const ElementEvidence& v : e.elements)
    expected[v.output] += fmt::format("{}[{}, \"{}\", \"{}\"]", expected[v.output].empty() ? "" : ", ", v.index, hex_from_value(v.exact),
                                      hex_from_value(v.allowed));
  std::string elements;
  for (const auto& [name, list] : expected) elements += fmt::format("{}{}: [{}]", elements.empty() ? "" : ", ", json_text(name), list);
  return fmt::format(
      "{{\"title\": {}, \"seen\": {}, \"module\": {}, \"library\": {}, \"environment\": {}, \"shows\": \"{}\", \"outputs\": [{}],\n"
      "\"expected\": {{{}}},\n\"case\": {}}}\n",
      json_text(title_of(e)), json_text(seen_with(e)), json_text(e.python_source), json_text(worker_directory() + "/normfuzz_target.py"),
      object_of(e.environment), name_of(e.shows()), outputs, elements, write_case(c));
}

std::string last_line(const std::string& path) {
  const auto read = read_file(path, kMaxProgramBytes);
  std::string text = read ? *read : "";
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

// Runs the script in `directory`; an error is what it says.
Status run_script(const Entry& e, const std::string& description_file, const std::string& program_file, const std::string& log) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  auto process = Process::spawn({e.python, worker_directory() + "/write_repro.py", description_file, program_file}, {}, nothing, log);
  ::close(nothing);
  if (!process) return Error{process.error()};
  char reply = 0;
  process->wait(std::chrono::steady_clock::now() + kTimeLimit, reply);
  if (const ProcessEnd end = process->end(); end != ProcessEnd{}) {
    const std::string said = last_line(log);
    return Error{said.empty() ? to_string(end) : said};
  }
  return Unit{};
}

}  // namespace

Result<std::string> python_program(const Entry& e, const std::string& directory) {
  if (e.python_source.empty()) return Error{"the target is not written in Python"};
  if (e.finding.shrunk.property) return Error{"the theorem compares several calls"};
  if (e.shows() == Shows::kNothing) return Error{"what it shows is no number of one call"};
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : e.finding.shrunk.inputs) numbers += tensor ? tensor->size() : 0;
  if (numbers > kMaxTextElements) return Error{"the case is too large for a text"};
  const std::string description_file = directory + "/repro.json", program_file = directory + "/repro.part", log = directory + "/repro.log";
  Status status = write_file_atomically(description_file, description(e));
  if (status) status = run_script(e, description_file, program_file, log);
  auto text = status ? read_file(program_file, kMaxProgramBytes) : Result<std::string>(Error{status.error()});
  std::error_code ignored;
  for (const std::string& file : {description_file, program_file, log}) std::filesystem::remove(file, ignored);
  return text;
}

}  // namespace normfuzz
