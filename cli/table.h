// Plain tables for a terminal of 100 columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace normfuzz {

inline constexpr std::size_t kTerminalColumns = 100;

// Columns two blanks apart, each as wide as its longest cell; the last one is broken at kTerminalColumns. Cells of the columns in `numbers`
// are flush right. The first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<std::size_t>& numbers = {});

// `text`, which begins behind `indent` columns, broken at blanks into lines of kTerminalColumns that all begin there; where there is
// little room, in words too.
std::string wrapped(std::string_view text, std::size_t indent);

// "a, b, c"
std::string joined(const std::vector<std::string>& items, std::string_view separator = ", ");

}  // namespace normfuzz
