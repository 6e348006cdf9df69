#include "monitor/table.h"

#include <algorithm>
#include <utility>

namespace troika::monitor {
namespace {

constexpr std::size_t gap = 2;

std::size_t whole_width(const std::vector<std::size_t>& widths) {
  std::size_t all = 0;
  for (const std::size_t width : widths) all += width == 0 ? 0 : width + gap;
  return all == 0 ? 0 : all - gap;
}

}  // namespace

void Table::add_row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (const auto& row : rows_) widths[i] = std::max(widths[i], columns_of(row[i].text));
    if (widths[i] > 0 || columns_[i].least > 0)
      widths[i] = std::clamp(std::max(widths[i], columns_of(columns_[i].title)), columns_[i].least, columns_[i].most);
  }
  return widths;
}

std::vector<TextLine> Table::lines(std::size_t width) const {
  std::vector<std::size_t> all = widths();
  while (whole_width(all) > width) {
    std::size_t least = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (all[i] > 0 && (least == columns_.size() || columns_[i].weight < columns_[least].weight)) least = i;
    if (std::count(all.begin(), all.end(), 0u) + 1 == static_cast<std::ptrdiff_t>(all.size())) break;
    all[least] = 0;
  }
  const auto line_of = [&](const auto& cell_at) {
    TextLine line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (all[i] == 0) continue;
      const Cell cell = cell_at(i);
      const std::string cut = shortened_to(cell.text, all[i]);
      if (line.columns() > 0) line.add(std::string(gap, ' '));
      line.add(columns_[i].align == Align::left ? padded(cut, all[i]) : padded_left(cut, all[i]), cell.style);
    }
    return line;
  };
  std::vector<TextLine> lines = {line_of([&](std::size_t i) { return Cell{columns_[i].title, Style::dim}; })};
  for (const auto& row : rows_) lines.push_back(line_of([&](std::size_t i) { return row[i]; }));
  return lines;
}

}  // namespace troika::monitor
