// Text in columns: how wide it is on a terminal, cut to a width, with a style for each part.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troika::monitor {

enum class Style { plain, dim, bold, good, warning, bad, accent };

// Columns are those of base::terminal_columns.
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

// Rows of cells under titles, as wide as their contents, with fewer columns where the width is short.
struct Cell {
  std::string text;
  Style style = Style::plain;
};

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
    int weight = 0;         // where the width is short, columns of less weight are left out
    std::size_t most = 24;  // columns of the terminal; longer cells are cut
    std::size_t least = 0;  // so wide even where cells are shorter or empty: what changes often moves no other column
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add_row(std::vector<Cell> cells);  // a cell per column
  // The titles and the rows. Empty columns are left out, unless they have a least width.
  std::vector<TextLine> lines(std::size_t width) const;

 private:
  std::vector<std::size_t> widths() const;  // 0: the column is empty

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// A series as a small picture of characters.
enum class Charset { ascii, utf8 };

// Lines from above to below, `columns` wide and `rows` high. The series is spread over the width, its least value at the bottom and its
// largest at the top; of a long series the top is the value that 95 % stay below, and more is cut off. Braille dots where there is UTF-8, two points in a column and four in a row; else " .:-=+*#". What is not
// finite is left empty. A series that is shorter than the width takes only its part of it; an empty one gives no lines.
std::vector<std::string> sparkline(const std::vector<double>& values, std::size_t columns, std::size_t rows,
                                   Charset charset);

// A bar of `columns`, `fraction` of it filled.
std::string progress_bar(double fraction, std::size_t columns, Charset charset);

}  // namespace troika::monitor
