// The rows of a metrics.jsonl in columns: 48 bytes a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/run_files.h"
#include "serve/row_scan.h"

namespace troika::serve {

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
  // From this row on rows stand one behind the other in the file, with nothing between them but damaged lines, until the next mark.
  struct Mark {
    std::int64_t row = 0, offset = 0;
  };

  // A row that begins at that offset of the file. Rows of the same and of later steps go: a run that went back has left them.
  void add(const ScannedRow& row, std::int64_t offset);
  // What was read behind these rows: the same as adding its rows one by one.
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
  bool seam_ = true;  // the next row does not stand behind the last one
};

// Rows of metrics.jsonl as they are in the file.
inline constexpr std::int64_t most_rows = 10'000;

// A JSON array of the rows from step `from` on, at most `limit` of them, each as its line has it. `file` is what `columns` were read
// from.
std::string rows_json(const Columns& columns, const base::RunFile& file, std::int64_t from, std::int64_t limit);

}  // namespace troika::serve
