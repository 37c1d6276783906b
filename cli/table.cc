#include "cli/table.h"

#include <algorithm>

namespace normfuzz {

// A column this narrow breaks words that it cannot hold.
constexpr std::size_t kNarrow = 40;

std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t length = text.substr(0, text.find(' ')).size();
    const std::size_t room = kTerminalColumns - std::min(indent, kTerminalColumns - 1);
    const bool broken = length > room && room < kNarrow;  // elsewhere a long word is something to copy
    const std::string_view word = text.substr(0, broken ? room : length);
    text.remove_prefix(std::min(text.size(), broken ? room : length + 1));
    if (column > indent && column + 1 + word.size() > kTerminalColumns) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<std::size_t>& numbers) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::size_t column = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      const bool flush_right = std::find(numbers.begin(), numbers.end(), i) != numbers.end();
      if (i + 1 == row.size())
        out += (flush_right ? blanks : "") + wrapped(row[i], column);
      else
        out += (flush_right ? blanks + row[i] : row[i] + blanks) + "  ";
      column += widths[i] + 2;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string joined(const std::vector<std::string>& items, std::string_view separator) {
  std::string out;
  for (const std::string& item : items) {
    if (!out.empty()) out += separator;
    out += item;
  }
  return out;
}

}  // namespace normfuzz
