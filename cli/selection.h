// Names on the command line -> ops and dtypes. None named: all.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"

namespace normfuzz {

// An error begins with `option`.
Result<std::vector<std::string>> selected_ops(const std::string& option, const std::vector<std::string>& names);
Result<std::vector<DType>> selected_dtypes(const std::string& option, const std::vector<std::string>& names);
Status check_regime(const std::string& option, const std::string& name);

// "90", "60s", "10m", "2h" -> seconds.
Result<double> seconds_from(const std::string& option, const std::string& text);

}  // namespace normfuzz
