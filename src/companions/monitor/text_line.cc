#include "monitor/text_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/terminal_text.h"
#include "base/text.h"

namespace troika::monitor {
namespace {

std::string_view escape_of(Style style) {
  constexpr std::string_view escapes[] = {"", "\x1b[2m", "\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[36m"};
  return escapes[static_cast<std::size_t>(style)];
}

constexpr std::size_t gap = 2;

std::size_t whole_width(const std::vector<std::size_t>& widths) {
  std::size_t all = 0;
  for (const std::size_t width : widths) all += width == 0 ? 0 : width + gap;
  return all == 0 ? 0 : all - gap;
}

constexpr std::string_view steps_of_ascii = " .:-=+*#";
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// Means of neighbours, at most `count`; a short series stays as it is.
std::vector<double> spread(const std::vector<double>& values, std::size_t count) {
  if (values.size() <= count) return values;
  std::vector<double> means;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * values.size() / count, end = (i + 1) * values.size() / count;
    double sum = 0, finite = 0;
    for (std::size_t j = begin; j < end; ++j)
      if (std::isfinite(values[j])) sum += values[j], ++finite;
    means.push_back(finite > 0 ? sum / finite : nothing);
  }
  return means;
}

struct Bounds {
  double least = 0, most = 0;
  bool differ() const {
    return most - least > 1e-9 * std::max(std::abs(most), std::abs(least));
  }  // by more than means round
};

// A beginning or a spike far above the rest would press the rest flat: of a long series the top is what 95 % stay below.
Bounds bounds_of(std::vector<double> values) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); }),
               values.end());
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  constexpr std::size_t of_a_long_series = 20;
  return {values.front(), values.size() < of_a_long_series ? values.back() : values[values.size() * 95 / 100]};
}

// The height of each value in `levels`, at least one; 0 for a value that is not finite.
std::vector<int> heights(const std::vector<double>& values, int levels) {
  const Bounds bounds = bounds_of(values);
  std::vector<int> all;
  for (const double value : values) {
    const double share = bounds.differ() ? std::min(1.0, (value - bounds.least) / (bounds.most - bounds.least)) : 0.5;
    all.push_back(std::isfinite(value) ? 1 + static_cast<int>(std::lround(share * (levels - 1))) : 0);
  }
  return all;
}

std::string braille(int dots) {  // U+2800 + dots
  const int character = 0x2800 + dots;
  return {static_cast<char>(0xe0 | character >> 12), static_cast<char>(0x80 | (character >> 6 & 0x3f)),
          static_cast<char>(0x80 | (character & 0x3f))};
}

// The dots of a half of a character that is filled from below, by how many of the four.
constexpr std::array<int, 5> left_dots = {0, 0x40, 0x44, 0x46, 0x47}, right_dots = {0, 0x80, 0xa0, 0xb0, 0xb8};

std::vector<std::string> in_braille(const std::vector<double>& values, std::size_t columns, std::size_t rows) {
  const std::vector<int> all = heights(spread(values, 2 * columns), static_cast<int>(4 * rows));
  std::vector<std::string> lines(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const int below = static_cast<int>(4 * (rows - 1 - row));
    const auto filled = [&](std::size_t i) {
      return i < all.size() ? static_cast<std::size_t>(std::clamp(all[i] - below, 0, 4)) : 0;
    };
    for (std::size_t i = 0; i < all.size(); i += 2)
      lines[row] += braille(left_dots[filled(i)] | right_dots[filled(i + 1)]);
  }
  return lines;
}

std::vector<std::string> in_ascii(const std::vector<double>& values, std::size_t columns, std::size_t rows) {
  constexpr int steps = static_cast<int>(steps_of_ascii.size()) - 1;
  const std::vector<int> all = heights(spread(values, columns), steps * static_cast<int>(rows));
  std::vector<std::string> lines(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const int below = steps * static_cast<int>(rows - 1 - row);
    for (const int height : all)
      lines[row] += steps_of_ascii[static_cast<std::size_t>(std::clamp(height - below, 0, steps))];
  }
  return lines;
}

}  // namespace

std::string cut_to(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  for (std::size_t used = 0; bytes < text.size();) {
    const std::size_t more = std::max<std::size_t>(1, base::utf8_character_bytes(text.substr(bytes)));
    used += base::terminal_columns(text.substr(bytes, more));
    if (used > columns) break;
    bytes += more;
  }
  return std::string(text.substr(0, bytes));
}

std::string shortened_to(const std::string& text, std::size_t columns) {
  if (base::terminal_columns(text) <= columns) return text;
  return columns <= 2 ? cut_to(text, columns) : cut_to(text, columns - 2) + "..";
}

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t used = base::terminal_columns(text);
  return used >= columns ? text : text + std::string(columns - used, ' ');
}

std::string padded_left(const std::string& text, std::size_t columns) {
  const std::size_t used = base::terminal_columns(text);
  return used >= columns ? text : std::string(columns - used, ' ') + text;
}

TextLine& TextLine::add(std::string text, Style style) {
  columns_ += base::terminal_columns(text);
  parts_.push_back({std::move(text), style});
  return *this;
}

TextLine& TextLine::pad_to(std::size_t columns) {
  if (columns > columns_) add(std::string(columns - columns_, ' '));
  return *this;
}

std::string TextLine::plain(std::size_t width) const {
  std::string text;
  for (const Part& part : parts_) text += part.text;
  text = cut_to(text, width);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string TextLine::coloured(std::size_t width) const {
  std::string text;
  for (const Part& part : parts_) {
    const std::string cut = cut_to(part.text, width);
    width -= base::terminal_columns(cut);
    const std::string_view escape = escape_of(part.style);
    text += escape.empty() ? cut : std::string(escape) + cut + "\x1b[0m";
    if (cut.size() < part.text.size()) break;
  }
  return text;
}

void Table::add_row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (const auto& row : rows_) widths[i] = std::max(widths[i], base::terminal_columns(row[i].text));
    if (widths[i] > 0 || columns_[i].least > 0)
      widths[i] = std::clamp(std::max(widths[i], base::terminal_columns(columns_[i].title)), columns_[i].least, columns_[i].most);
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

std::vector<std::string> sparkline(const std::vector<double>& values, std::size_t columns, std::size_t rows,
                                   Charset charset) {
  if (values.empty() || columns == 0 || rows == 0) return {};
  return charset == Charset::utf8 ? in_braille(values, columns, rows) : in_ascii(values, columns, rows);
}

std::string progress_bar(double fraction, std::size_t columns, Charset charset) {
  const double bounded = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0;
  const auto filled = static_cast<std::size_t>(bounded * static_cast<double>(columns));
  if (charset == Charset::ascii) return std::string(filled, '=') + std::string(columns - filled, '.');
  std::string bar;
  for (std::size_t i = 0; i < columns; ++i) bar += i < filled ? "\u2588" : "\u2591";
  return bar;
}

}  // namespace troika::monitor
