// A metrics.jsonl in columns, read again and again while it grows.
#pragma once

#include <cstdint>
#include <string>

#include "serve/columns.h"
#include "serve/line_chunks.h"
#include "serve/run_file.h"

namespace troika::serve {

// The rows are those of records::RunReader, each step once. Threads: one at a time; refresh() starts some of its own for a file of
// which much is new.
class StepColumns {
 public:
  // Reads what is new in the file. One that was replaced or cut is read from its start.
  void refresh(const RunFile& file);
  void clear() { *this = {}; }  // there is no file

  const Columns& columns() const { return columns_; }

 private:
  bool goes_on(const RunFile& file) const;
  void read_by_threads(const RunFile& file, std::int64_t end);
  void remember(const RunFile& file);

  Columns columns_;
  LinesRead read_;
  std::uint64_t device_ = 0, inode_ = 0;
  std::string last_bytes_;  // that stand before read_.next
};

}  // namespace troika::serve
