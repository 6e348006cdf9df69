#include "serve/column_cache.h"

#include <algorithm>
#include <optional>

#include "serve/step_columns.h"
#include "serve/turn.h"

namespace troika::serve {

struct ColumnCache::Entry {
  explicit Entry(std::string of) : folder(std::move(of)) {}

  const std::string folder;
  Turn turn;  // of `columns`
  StepColumns columns;
  std::int64_t bytes = 0;  // by the mutex of the cache
};

ColumnCache::ColumnCache(std::int64_t most_bytes) : most_bytes_(most_bytes) {}
ColumnCache::~ColumnCache() = default;

std::shared_ptr<ColumnCache::Entry> ColumnCache::entry_of(const std::string& folder) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const std::shared_ptr<Entry>& entry) { return entry->folder == folder; });
  if (found == entries_.end())
    entries_.push_front(std::make_shared<Entry>(folder));
  else
    entries_.splice(entries_.begin(), entries_, found);
  return entries_.front();
}

void ColumnCache::settle(const std::shared_ptr<Entry>& used, std::int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  used->bytes = bytes;
  std::int64_t all = 0;
  for (auto at = entries_.begin(); at != entries_.end();) {
    all += (*at)->bytes;
    const bool stays = at == entries_.begin() || all <= most_bytes_;
    if (!stays) all -= (*at)->bytes;
    at = stays ? std::next(at) : entries_.erase(at);
  }
}

void ColumnCache::look(const std::string& folder, const Use& use) {
  const std::shared_ptr<Entry> entry = entry_of(folder);
  const Turn::Held turn(entry->turn, folder);
  const std::optional<RunFile> file = RunFile::open(folder, "metrics.jsonl");
  if (file)
    entry->columns.refresh(*file);
  else
    entry->columns.clear();
  settle(entry, entry->columns.columns().bytes());
  use(entry->columns.columns(), file ? &*file : nullptr);
}

std::int64_t ColumnCache::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::int64_t all = 0;
  for (const std::shared_ptr<Entry>& entry : entries_) all += entry->bytes;
  return all;
}

}  // namespace troika::serve
