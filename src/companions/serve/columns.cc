#include "serve/columns.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>

namespace troika::serve {
namespace {

constexpr std::array<std::string_view, 3> axis_words = {"step", "tokens", "time"};

template <class Value>
std::int64_t bytes_of(const std::vector<Value>& values) {
  return static_cast<std::int64_t>(values.capacity() * sizeof(Value));
}

void resize(Columns::Block& block, std::size_t rows) {
  block.steps.resize(rows);
  block.tokens.resize(rows);
  block.seconds.resize(rows);
  for (auto& values : block.values) values.resize(rows);
}

void push(Columns::Block& block, const ScannedRow& row, double seconds) {
  block.steps.push_back(row.step);
  block.tokens.push_back(row.tokens_total);
  block.seconds.push_back(seconds);
  for (std::size_t i = 0; i < series_count; ++i) block.values[i].push_back(static_cast<float>(row.values[i]));
}

// A step whose time is not known takes none.
double counted(float step_seconds) { return std::isfinite(step_seconds) && step_seconds > 0 ? step_seconds : 0; }

double x_in(const Columns::Block& block, Axis axis, std::size_t place) {
  if (axis == Axis::time) return block.seconds[place];
  return static_cast<double>(axis == Axis::step ? block.steps[place] : block.tokens[place]);
}

std::int64_t first_row_from(const Columns& columns, std::int64_t step) {
  std::int64_t low = 0, high = columns.rows();
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (columns.step(middle) < step)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// A line that the full parser alone takes may hold more than JSON, such as bytes behind a zero byte.
std::string as_json(std::string_view line) {
  if (is_plain_row(line)) return std::string(line);
  return nlohmann::ordered_json::parse(line.begin(), line.end()).dump();
}

}  // namespace

std::optional<Axis> axis_of(std::string_view word) {
  for (std::size_t i = 0; i < axis_words.size(); ++i)
    if (axis_words[i] == word) return static_cast<Axis>(i);
  return std::nullopt;
}

std::string_view word_of(Axis axis) { return axis_words[static_cast<std::size_t>(axis)]; }

std::size_t Columns::block_of(std::int64_t row) const {
  return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), row) - begins_.begin()) - 1;
}

std::int64_t Columns::step(std::int64_t row) const {
  const std::size_t block = block_of(row);
  return blocks_[block]->steps[static_cast<std::size_t>(row - begins_[block])];
}

double Columns::x(Axis axis, std::int64_t row) const {
  const std::size_t block = block_of(row);
  return x_in(*blocks_[block], axis, static_cast<std::size_t>(row - begins_[block]));
}

std::int64_t Columns::first_from(Axis axis, double x_value) const {
  std::int64_t low = 0, high = rows_;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (x(axis, middle) < x_value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

std::size_t Columns::mark_of(std::int64_t row) const {
  const auto behind = std::upper_bound(marks_.begin(), marks_.end(), row,
                                       [](std::int64_t r, const Mark& mark) { return r < mark.row; });
  return static_cast<std::size_t>(behind - marks_.begin()) - 1;
}

std::int64_t Columns::bytes() const {
  std::int64_t bytes = static_cast<std::int64_t>(sizeof *this) + bytes_of(marks_) + bytes_of(begins_);
  for (const auto& block : blocks_) {
    bytes += static_cast<std::int64_t>(sizeof(Block)) + bytes_of(block->steps) + bytes_of(block->tokens) +
             bytes_of(block->seconds);
    for (const auto& values : block->values) bytes += bytes_of(values);
  }
  return bytes;
}

void Columns::truncate(std::int64_t rows) {
  while (!begins_.empty() && begins_.back() >= rows) {
    blocks_.pop_back();
    begins_.pop_back();
  }
  if (!blocks_.empty()) resize(*blocks_.back(), static_cast<std::size_t>(rows - begins_.back()));
  while (!marks_.empty() && marks_.back().row >= rows) marks_.pop_back();
  rows_ = rows;
  seam_ = true;
}

void Columns::cut_from(std::int64_t step_value) {
  if (rows_ == 0 || blocks_.back()->steps.back() < step_value) return;
  std::int64_t low = 0, high = rows_;  // steps ascend; as doubles large ones would not tell from each other
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (step(middle) < step_value)
      low = middle + 1;
    else
      high = middle;
  }
  truncate(low);
}

void Columns::add(const ScannedRow& row, std::int64_t offset) {
  cut_from(row.step);
  if (seam_ || rows_ - marks_.back().row >= rows_between_marks) marks_.push_back({rows_, offset});
  seam_ = false;
  const double before = rows_ == 0 ? 0 : blocks_.back()->seconds.back();
  if (blocks_.empty() || blocks_.back()->steps.size() >= block_rows) {
    blocks_.push_back(std::make_unique<Block>());
    begins_.push_back(rows_);
  }
  push(*blocks_.back(), row, before + counted(static_cast<float>(row[Series::step_seconds])));
  ++rows_;
}

void Columns::append(Columns&& later) {
  if (later.rows_ == 0) return;
  cut_from(later.step(0));  // its first step is the least it has
  double seconds = rows_ == 0 ? 0 : blocks_.back()->seconds.back();
  for (Mark mark : later.marks_) marks_.push_back({mark.row + rows_, mark.offset});
  for (auto& block : later.blocks_) {
    const std::vector<float>& taken = block->of(Series::step_seconds);
    for (std::size_t i = 0; i < taken.size(); ++i) block->seconds[i] = seconds += counted(taken[i]);
    begins_.push_back(rows_);
    rows_ += static_cast<std::int64_t>(block->steps.size());
    blocks_.push_back(std::move(block));
  }
  seam_ = false;
  later.clear();
}

std::string rows_json(const Columns& columns, const base::RunFile& file, std::int64_t from, std::int64_t limit) {
  const std::int64_t first = first_row_from(columns, from);
  const std::int64_t end = std::min(columns.rows(), first + std::clamp<std::int64_t>(limit, 0, most_rows));
  std::string text = "[";
  for (std::int64_t row = first; row < end;) {
    const std::size_t mark = columns.mark_of(row);
    const std::vector<Columns::Mark>& marks = columns.marks();
    const bool last = mark + 1 == marks.size();
    const std::int64_t behind = last ? end : std::min(end, marks[mark + 1].row);
    const std::int64_t end_offset = last ? file.facts().bytes : marks[mark + 1].offset;
    std::int64_t at = marks[mark].row;
    each_line(file, {marks[mark].offset, false}, end_offset, [&](std::int64_t, std::string_view line) {
      if (!scan_row(line)) return true;
      if (at >= row) text += (text.size() > 1 ? ",\n" : "") + as_json(line);
      return ++at < behind;
    });
    row = behind;
  }
  return text + "]\n";
}

}  // namespace troika::serve
