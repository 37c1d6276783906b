// Where commands get their cases from.
#pragma once

#include <functional>
#include <string>

#include "core/case.h"
#include "core/result.h"

namespace normfuzz {

struct NamedCase {
  std::string name;  // for messages: the file, or "FILE:LINE"
  Case content;
};

// A case file, or the case.json of a BugZoo entry (a directory). Valid for its op: validate() passed.
Result<NamedCase> read_named_case(const std::string& path);

// Calls `use` for the case at `path`, or for each line of a .jsonl file; stops at the first error.
Status each_case(const std::string& path, const std::function<Status(const NamedCase&)>& use);

}  // namespace normfuzz
