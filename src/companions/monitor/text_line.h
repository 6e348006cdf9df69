// Text in columns: how wide it is on a terminal, cut to a width, with a style for each part.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troika::monitor {

enum class Style { plain, dim, bold, good, warning, bad, accent };

// Columns that valid UTF-8 takes on a terminal: Chinese and Japanese characters and full-width signs two, marks that join the one
// before none. Control characters count as one: text from outside is made printable before it comes here.
std::size_t columns_of(std::string_view text);
std::string cut_to(std::string_view text, std::size_t columns);          // at most so many
std::string shortened_to(const std::string& text, std::size_t columns);  // the same, and a cut one ends in ".."
std::string padded(const std::string& text, std::size_t columns);        // spaces behind; not cut
std::string padded_left(const std::string& text, std::size_t columns);   // spaces in front; not cut

// A line of a screen.
class TextLine {
 public:
  TextLine() = default;
  TextLine(std::string text, Style style = Style::plain) { add(std::move(text), style); }

  TextLine& add(std::string text, Style style = Style::plain);
  TextLine& pad_to(std::size_t columns);  // spaces up to there
  std::size_t columns() const { return columns_; }

  std::string plain(std::size_t width) const;     // cut to the width
  std::string coloured(std::size_t width) const;  // the same, with escape sequences

 private:
  struct Part {
    std::string text;
    Style style;
  };
  std::vector<Part> parts_;
  std::size_t columns_ = 0;
};

}  // namespace troika::monitor
