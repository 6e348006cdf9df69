// The columns of the runs that were looked at last.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "serve/columns.h"
#include "base/run_files.h"

namespace troika::serve {

// Threads: any. Two that look at one run come one after the other, those of different runs at once.
class ColumnCache {
 public:
  static constexpr std::int64_t usual_bytes = std::int64_t{90} << 20;

  // Those used longest ago go while all together have more than `most_bytes`; the last one stays, whatever it has.
  explicit ColumnCache(std::int64_t most_bytes = usual_bytes);
  ~ColumnCache();
  ColumnCache(const ColumnCache&) = delete;
  ColumnCache& operator=(const ColumnCache&) = delete;

  // `file` is metrics.jsonl as it was read; nullptr where there is none, and then there are no rows. PeerError when others have
  // waited for this run's disk for 5 s.
  using Use = std::function<void(const Columns&, const base::RunFile* file)>;
  void look(const std::string& folder, const Use& use);

  std::int64_t bytes() const;  // of all

 private:
  struct Entry;
  std::shared_ptr<Entry> entry_of(const std::string& folder);
  void settle(const std::shared_ptr<Entry>& used, std::int64_t bytes);

  const std::int64_t most_bytes_;
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<Entry>> entries_;  // used last: the front
};

// A metrics.jsonl in columns, read again and again while it grows.
// The rows are those of records::RunReader, each step once. Threads: one at a time; refresh() starts some of its own for a file of
// which much is new.
class StepColumns {
 public:
  // Reads what is new in the file. One that was replaced or cut is read from its start.
  void refresh(const base::RunFile& file);
  void clear() { *this = {}; }  // there is no file

  const Columns& columns() const { return columns_; }

 private:
  bool goes_on(const base::RunFile& file) const;
  void read_by_threads(const base::RunFile& file, std::int64_t end);
  void remember(const base::RunFile& file);

  Columns columns_;
  LinesRead read_;
  std::uint64_t device_ = 0, inode_ = 0;
  std::string last_bytes_;  // the bytes before read_.next
};

}  // namespace troika::serve
