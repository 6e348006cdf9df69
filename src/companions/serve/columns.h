// The rows of a metrics.jsonl in columns: 48 bytes a row.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/run_files.h"

namespace troika::serve {

// The numbers of a row of metrics.jsonl that curves are made of.
enum class Series { loss, valid_loss, grad_norm, lr, tokens_per_second, step_seconds };
inline constexpr std::size_t series_count = 6;
std::string_view word_of(Series series);  // the key of a row
std::optional<Series> series_of(std::string_view word);

struct ScannedRow {
  static constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

  std::int64_t step = 0, tokens_total = 0;
  std::array<double, series_count> values{not_known, not_known, not_known, not_known, not_known, not_known};

  double operator[](Series series) const { return values[static_cast<std::size_t>(series)]; }
};

// As metrics::parse_step_metrics() has it, at a fiftieth of its time for what a run writes; nothing for a line that it refuses.
// `line`: without its newline.
std::optional<ScannedRow> scan_row(std::string_view line);

// Whether the line is JSON of the plain form that runs write, which goes to others as it is.
bool is_plain_row(std::string_view line);

enum class Axis { step, tokens, time };  // loss tokens since the first step; seconds of training
std::optional<Axis> axis_of(std::string_view word);
std::string_view word_of(Axis axis);

// Rows of ascending steps. Threads: const use is safe.
class Columns {
 public:
  // A part of the rows, in order; seconds[i]: of all steps until that one, itself included.
  struct Block {
    std::vector<std::int64_t> steps, tokens;
    std::vector<double> seconds;
    std::array<std::vector<float>, series_count> values;

    const std::vector<float>& of(Series series) const { return values[static_cast<std::size_t>(series)]; }
  };
  // From this row to the next mark, rows follow one another in the file, with nothing between them but damaged lines.
  struct Mark {
    std::int64_t row = 0, offset = 0;
  };

  // A row that begins at that offset of the file. Rows of the same and of later steps go: a run that went back has left them.
  void add(const ScannedRow& row, std::int64_t offset);
  // Rows that were read behind these: the same as adding them one by one.
  void append(Columns&& later);
  void clear() { *this = {}; }

  std::int64_t rows() const { return rows_; }
  std::int64_t bytes() const;  // of memory
  std::int64_t step(std::int64_t row) const;
  double x(Axis axis, std::int64_t row) const;
  // The first row that is not before `x`; rows() where there is none.
  std::int64_t first_from(Axis axis, double x) const;
  // The last mark at or before a row that there is, and the one behind it, if any.
  std::size_t mark_of(std::int64_t row) const;
  const std::vector<Mark>& marks() const { return marks_; }

  // Calls each(block, first, end), with places in the block, for every block that has of the rows from `first` to `end`.
  template <class Each>
  void each_block(std::int64_t first, std::int64_t end, const Each& each) const {
    for (std::size_t at = first < end ? block_of(first) : blocks_.size(); at < blocks_.size() && begins_[at] < end;
         ++at) {
      const std::int64_t begin = begins_[at], size = static_cast<std::int64_t>(blocks_[at]->steps.size());
      each(*blocks_[at], static_cast<std::size_t>(first > begin ? first - begin : 0),
           static_cast<std::size_t>(end < begin + size ? end - begin : size));
    }
  }

 private:
  static constexpr std::size_t block_rows = 16384;
  static constexpr std::int64_t rows_between_marks = 256;

  std::size_t block_of(std::int64_t row) const;
  void cut_from(std::int64_t step);
  void truncate(std::int64_t rows);

  std::vector<std::unique_ptr<Block>> blocks_;  // none is empty
  std::vector<std::int64_t> begins_;            // the first row of each
  std::vector<Mark> marks_;
  std::int64_t rows_ = 0;
  bool seam_ = true;  // the next row does not follow the last one
};

// Rows of metrics.jsonl as they are in the file.
inline constexpr std::int64_t most_rows = 10'000;

// A JSON array of the rows from step `from` on, at most `limit` of them, each as its line has it. `file` is what `columns` were read
// from.
std::string rows_json(const Columns& columns, const base::RunFile& file, std::int64_t from, std::int64_t limit);

// The lines of a part of a file, by reading it in pieces of a bounded size.
inline constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

struct LinesRead {
  std::int64_t next = 0;   // where the first line begins that is not whole yet
  bool in_a_long = false;  // that begin is within a line of more than chunk_bytes, the rest of which is passed over
};

// Calls each(offset, line) for every whole line from `from` to `end`, without its newline; lines of more than chunk_bytes are left
// out. each() returns false to end the reading behind that line.
template <class Each>
LinesRead each_line(const base::RunFile& file, LinesRead from, std::int64_t end, const Each& each) {
  std::string buffer;
  buffer.resize(
      std::min<std::size_t>(chunk_bytes, static_cast<std::size_t>(std::max<std::int64_t>(end - from.next, 0))));
  std::size_t held = 0;  // of the line that is not whole yet, at the front of the buffer
  LinesRead at = from;
  for (std::int64_t offset = from.next; offset < end;) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(buffer.size() - held), end - offset));
    const std::size_t count = file.read(offset, buffer.data() + held, wanted);
    if (count == 0) break;
    offset += static_cast<std::int64_t>(count);
    const char *begin = buffer.data(), *searched = begin + held, *const behind = searched + count;
    while (const auto* newline =
               static_cast<const char*>(std::memchr(searched, '\n', static_cast<std::size_t>(behind - searched)))) {
      const std::string_view line(begin, static_cast<std::size_t>(newline - begin));
      const std::int64_t line_offset = at.next;
      const bool whole = !at.in_a_long;
      at.next += static_cast<std::int64_t>(line.size()) + 1;
      at.in_a_long = false;
      begin = searched = newline + 1;
      if (whole && !each(line_offset, line)) return at;
    }
    held = static_cast<std::size_t>(behind - begin);
    if (held == buffer.size() && held == chunk_bytes) {
      at.next += static_cast<std::int64_t>(held);
      at.in_a_long = true;
      held = 0;
    }
    std::memmove(buffer.data(), begin, held);
  }
  if (at.in_a_long) at.next += static_cast<std::int64_t>(held);
  return at;
}

}  // namespace troika::serve
