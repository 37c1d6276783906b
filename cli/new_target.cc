// normfuzz new-target: a folder with one file of code and one manifest that runs at once.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <system_error>

#include "cli/command.h"
#include "core/files.h"
#include "core/replace_all.h"
#include "harness/run/paths.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string name, kind = "python", out = ".";
};

// A kind: its template, the manifest's kind and types, and the command that builds it (empty: none).
struct Kind {
  const char *name, *file, *manifest_kind, *dtypes, *build;
};
constexpr Kind kKinds[] = {
    {"python", "python.py", "python", R"("f64", "f32", "f16")", ""},
    {"cpp", "cpp.cc", "native", R"("f32")", "g++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -I{include} {source} -o {module}"},
    {"opencl", "opencl.cc", "native", R"("f32")", "g++ -std=c++17 -O2 -shared -fPIC -I{include} {source} -o {module} -lOpenCL"},
    {"cuda", "cuda.cu", "native", R"("f32")", "nvcc -std=c++17 -O2 --fmad=false -shared -Xcompiler -fPIC -I{include} {source} -o {module}"},
};

bool is_name(const std::string& s) {
  return !s.empty() && std::isalpha(static_cast<unsigned char>(s[0])) &&
         std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

constexpr std::size_t kMaxTemplateBytes = 1 << 16;

Result<std::string> template_text(const std::string& file) {
  return read_file(worker_directory() + "/new_target/" + file, kMaxTemplateBytes);
}

// Both files in a folder of another name, which is renamed when whole.
Status scaffold(const Kind& kind, const std::string& name, const fs::path& folder) {
  Result<std::string> code = template_text(kind.file), manifest = template_text("manifest.toml"), rows = template_text("rows.inc");
  for (const auto* read : {&code, &manifest, &rows})
    if (!*read) return Error{read->error()};
  replace_all(*code, "@ROWS@", *rows);
  replace_all(*manifest, "@KIND@", kind.manifest_kind);
  replace_all(*manifest, "@DTYPES@", kind.dtypes);
  for (auto* text : {&code, &manifest}) replace_all(**text, "@NAME@", name);
  const fs::path temporary = folder.string() + ".part";
  std::error_code error;
  fs::remove_all(temporary, error);
  if (!fs::create_directories(temporary, error)) return Error{temporary.string() + ": cannot be made: " + error.message()};
  const fs::path source = temporary / (name + fs::path(kind.file).extension().string());
  if (const Status done = write_file_atomically(source.string(), *code); !done) return done;
  if (const Status done = write_file_atomically((temporary / "manifest.toml").string(), *manifest); !done) return done;
  fs::rename(temporary, folder, error);
  if (error) return Error{folder.string() + ": cannot be made: " + error.message()};
  return Unit{};
}

Result<ExitStatus> run(const Options& o) {
  if (!is_name(o.name)) return Error{"NAME '" + o.name + "': expected letters, digits and underscores, a letter first"};
  const Kind& kind = *std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return o.kind == k.name; });
  const fs::path folder = fs::path(o.out) / o.name;
  if (fs::exists(folder)) return Error{folder.string() + ": exists already, expected a new name"};
  if (const Status made = scaffold(kind, o.name, folder); !made) return Error{made.error()};
  const std::string source = (folder / (o.name + fs::path(kind.file).extension().string())).string();
  const bool python = std::string_view(kind.build).empty();
  std::string module = python ? source : (folder / (o.name + ".so")).string();
  if (module.find('/') == std::string::npos) module = "./" + module;
  fmt::print("{}: a target of layer_norm and rms_norm. Next:\n", folder.string());
  if (!python)
    fmt::print("  {}\n", fmt::format(fmt::runtime(kind.build), fmt::arg("include", NORMFUZZ_INCLUDE_DIR), fmt::arg("source", source),
                                     fmt::arg("module", module)));
  fmt::print(
      "  normfuzz run --target {0} --ops layer_norm,rms_norm --cases 2000\n  normfuzz grade --target {0} --ops layer_norm,rms_norm\n",
      module);
  fmt::print("Then put your kernel in {} and what it promises in {}.\n", source, (folder / "manifest.toml").string());
  return ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.text("NAME", o->name, "Of the target: letters, digits, underscores", true);
  std::vector<std::string> kinds;
  for (const Kind& k : kKinds) kinds.emplace_back(k.name);
  options.choice("--kind", o->kind, kinds, "What it is written in");
  options.text("--out", o->out, "The folder in which the target's folder is made");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kNewTarget = {
    "new-target",
    "Scaffold a target: one file of code and a manifest that run at once",
    "  normfuzz new-target my_kernels\n"
    "  normfuzz new-target my_kernels --kind cuda --out targets",
    declare,
};

}  // namespace normfuzz
