#include "commands/manual/manual.h"

#include <fmt/format.h>

#include "base/text.h"

namespace troika::commands {
namespace {

constexpr std::size_t most_columns = 78;  // of a line of the source; mandoc's style asks for less than 80

// The code point of a valid UTF-8 character of two to four bytes.
unsigned code_point(std::string_view character) {
  unsigned value = static_cast<unsigned char>(character.front()) & (0xffU >> (character.size() + 1));
  for (const char c : character.substr(1)) value = value << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  return value;
}

// Long lists of words may be broken behind their separators.
std::string roff_character(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    case '|':
      return "|\\:";
    case '/':
      return "/\\:";
    default:
      return std::string(1, c);
  }
}

// A line that begins with a dot or a quote would be a request.
std::string guarded_line(const std::string& line) {
  return (line.front() == '.' || line.front() == '\'' ? "\\&" : "") + line + "\n";
}

std::string wrapped_source(const std::string& text) {
  std::string result, line;
  for (const std::string& word : base::split(text, ' ')) {
    if (word.empty()) continue;
    if (!line.empty() && line.size() + 1 + word.size() > most_columns) {
      result += guarded_line(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? result : result + guarded_line(line);
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = base::utf8_character_bytes(text);
    if (bytes > 1) {
      result += fmt::format("\\[u{:04X}]", code_point(text.substr(0, bytes)));
    } else {
      result += roff_character(text.front());
    }
    text.remove_prefix(bytes > 1 ? bytes : 1);
  }
  return result;
}

std::string roff_bold(std::string_view text) { return "\\fB" + roff_text(text) + "\\fR"; }
std::string roff_italic(std::string_view text) { return "\\fI" + roff_text(text) + "\\fR"; }

std::string roff_prose(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t begin = text.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
    if (end == std::string_view::npos) return result + roff_text(text);
    result += roff_text(text.substr(0, begin)) + roff_bold(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
  return result;
}

void RoffPage::head(std::string_view name, std::string_view date, std::string_view version) {
  std::string upper(name);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  text_ += fmt::format(".\\\" Printed by: troika manual {}\n", name);
  text_ += fmt::format(".TH {} 1 {} \"{}\" \"User Commands\"\n", upper, date, version);
  text_ += ".nh\n.ad l\n";  // no hyphens in names, no stretched lines
}

void RoffPage::section(std::string_view title) { text_ += fmt::format(".SH {}\n", title), below_heading_ = true; }
void RoffPage::subsection(std::string_view title) { text_ += fmt::format(".SS {}\n", title), below_heading_ = true; }
void RoffPage::filled(const std::string& text) { text_ += wrapped_source(text); }
void RoffPage::break_line() { text_ += ".br\n"; }

void RoffPage::paragraph(const std::string& text) {
  text_ += (below_heading_ ? "" : ".PP\n") + wrapped_source(text);
  below_heading_ = false;
}

void RoffPage::item(const std::string& tag, const std::string& text) {
  text_ += ".TP\n" + guarded_line(tag) + wrapped_source(text);
  below_heading_ = false;
}

void RoffPage::lines(const std::string& text) {
  text_ += ".PP\n.RS 4\n.nf\n";
  for (const std::string& line : base::split(text, '\n')) text_ += guarded_line(line);
  text_ += ".fi\n.RE\n";
}

}  // namespace troika::commands
