// The runs below the folder that is served, as they are now.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/language.h"
#include "exporters/exposition.h"
#include "exporters/openmetrics.h"
#include "serve/routes.h"

namespace troika::serve {

// A run or sweep below the folder that is served.
struct NamedFolder {
  std::string name;  // of the path below the folder that is served: "sweep/runs/a"; of that folder itself its last part
  std::string path;
};

struct RunFolders {
  std::vector<NamedFolder> runs, sweeps;  // each by name
};

// Four levels deep, without folders behind links, hidden ones and those whose names are no UTF-8 or hold control characters. A run
// has no runs inside. At most 10,000 folders are looked into.
RunFolders run_folders_below(const std::string& folder);

// Whether there is a run that may be read: its files of records are files and not links. Also one that is just being started.
bool is_served_run(const std::string& folder);

// Sweeps below the folder that is served, as what /api/sweeps answers.

// One that cannot be read is in the list, without rows.
std::string sweeps_json(const std::vector<NamedFolder>& sweeps);

// DataError for damaged files.
std::string sweep_json(const NamedFolder& sweep, base::Language language);

// A run in a line of the list: what /api/runs says of it.
// Numbers that are not known are NaN, or 0 where they count from 1. Times in seconds since 1970.
struct RunSummary {
  std::string name, folder;
  std::string state;  // docs/formats/page-api.md has the words
  std::int64_t step = 0, steps = 0, tokens = 0;
  double loss = NAN, valid_loss = NAN, tokens_per_second = NAN, eta_seconds = NAN;
  base::Text model, layout;
  std::string precision;
  int dp = 0, pp = 0, tp = 0, cp = 0, zero = 0;  // 0: not known
  int ranks = 0;
  std::vector<std::string> hosts;
  double began = 0, changed = 0;
  base::Text text;               // of its end, as the run has said it; why it cannot be read
  int exit_code = 0;             // of its end
  std::vector<std::string> can;  // "stop", "resume", "export"
};

std::string to_json(const RunSummary& run, base::Language language);
std::string to_json(const std::vector<RunSummary>& runs, base::Language language);  // a list, in this order

// Follows one run. Of what was written before the first look only the end is read, and a run that is over is not read again until one
// of its files changes. Threads: one.
class RunFollower {
 public:
  explicit RunFollower(NamedFolder run);
  ~RunFollower();
  RunFollower(RunFollower&&) noexcept;
  RunFollower& operator=(RunFollower&&) noexcept;

  const RunSummary& look(double now);  // `now`: seconds since 1970
  // For a page of several runs, as of the last look. Steps that were written between looks that lie far apart may be missing in the
  // histogram.
  exporters::NamedRun metrics(double now) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads folders when asked, at most every 2 s, of each run only what is new. Threads: any, several at once; one reads, and others have
// what was read before meanwhile, so that a disk that does not answer keeps one of them.
class RunCatalog {
 public:
  // The folder of `options` need not exist yet. `clock` gives seconds.
  explicit RunCatalog(const Options& options, std::function<double()> clock = base::monotonic_seconds);
  ~RunCatalog();
  RunCatalog(const RunCatalog&) = delete;
  RunCatalog& operator=(const RunCatalog&) = delete;

  std::vector<RunSummary> list() const;                  // that which began last comes first
  RunSummary summary_of(const std::string& name) const;  // Refused 404
  std::string folder_of(const std::string& name) const;  // Refused 404; looks for it where it is not known
  // The folder from earlier reads: waits for no disk.
  std::optional<std::string> known_folder_of(const std::string& name) const;
  std::vector<NamedFolder> sweeps() const;  // by name
  std::string openmetrics(exporters::TextFormat format) const;

  void look_again() const;  // something was started or ended: the next answer has read it

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::serve
