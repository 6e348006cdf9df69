// Rows of cells under titles, as wide as what stands in them, with fewer columns where the width is short.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "monitor/text_line.h"

namespace troika::monitor {

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
  // The titles and the rows. Columns in which nothing stands are left out, unless they have a least width.
  std::vector<TextLine> lines(std::size_t width) const;

 private:
  std::vector<std::size_t> widths() const;  // 0: nothing stands there

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace troika::monitor
