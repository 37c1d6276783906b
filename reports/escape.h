// Text that came from a target, a file or a person, made safe for the format that quotes it. Messages of a framework may hold anything.
#pragma once

#include <string>
#include <string_view>

namespace normfuzz {

// Valid UTF-8 that every format may carry: broken sequences, control characters but for tab and newline, code points that XML has no place
// for, and those that turn the direction of writing become U+FFFD.
std::string clean_text(std::string_view text);

// For the text and the attributes in double quotes of HTML, SVG and XML.
std::string html_text(std::string_view text);
// For XML: as html_text, and tabs and newlines by number, which an attribute would fold into blanks.
std::string xml_attribute(std::string_view text);
// For running text and table cells on GitHub: one line, no markup, no mention of people or issues.
std::string markdown_text(std::string_view text);
// A path as the reference of a link: everything but letters, digits and "/-._~" as %XX.
std::string uri_path(std::string_view path);

}  // namespace normfuzz
