// What runs are doing, for everybody who asks: each run is read once, however many look.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/language.h"

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

}  // namespace troika::serve
