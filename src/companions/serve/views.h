// The activity of runs, for everybody who asks: each run is read once, however many look.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/language.h"
#include "base/run_files.h"
#include "http/message.h"
#include "monitor/step_history.h"
#include "serve/column_cache.h"
#include "serve/request_pool.h"
#include "serve/routes.h"

namespace troika::serve {

class ColumnCache;

// A run is followed from the first question on, and forgotten a minute after the last one. Threads: any; two that ask for one run come
// one after the other.
class RunViews {
 public:
  explicit RunViews(ColumnCache& cache);  // which must outlive it
  ~RunViews();
  RunViews(const RunViews&) = delete;
  RunViews& operator=(const RunViews&) = delete;

  // As `troika monitor --once --json` prints it, in one line, not older than half a second. PeerError when others have waited for this
  // run's disk for 5 s.
  std::string view_json(const std::string& folder, base::Language language);

 private:
  struct Followed;
  std::shared_ptr<Followed> followed(const std::string& folder);

  ColumnCache& cache_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Followed>> runs_;  // by folder
};

// The course of all steps of a run, however many there are, while no more than its last rows are kept.
// Threads: one.
class WholeHistory {
 public:
  // `cache`, which must outlive it, reads the rows for whoever else asks for them, too.
  WholeHistory(std::string folder, ColumnCache& cache) : folder_(std::move(folder)), cache_(cache) {}

  void refresh();  // what is new in metrics.jsonl
  const monitor::StepHistory& steps() const { return history_; }

 private:
  void follow(const Columns& columns);

  const std::string folder_;
  ColumnCache& cache_;
  monitor::StepHistory history_;
  std::optional<base::RunFile::Facts> facts_;  // of the file, as it was read
  std::int64_t rows_ = 0;                // of it that are in the history
};

// Server-sent events: what happens in runs, to all pages that look at them. A run is looked at once, however many look.
class RunViews;

// A thread of its own. Threads: any.
class Live {
 public:
  // The arguments must outlive it.
  Live(RunCatalog& catalog, RunViews& views);
  ~Live();  // end()
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  // /api/live?run=NAME&...; waits for no disk: a stream of events until the client leaves. At most 16 runs a stream; names that are none are left out.
  http::Response follow(const Asked& asked);
  bool end();  // open streams end; false where a run is still being looked at, on a disk that does not answer

 private:
  struct Impl;
  struct Worker;
  std::shared_ptr<Impl> impl_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace troika::serve
