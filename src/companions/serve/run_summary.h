// A run in a line of the list: what /api/runs says of it.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/language.h"
#include "exporters/openmetrics.h"
#include "serve/run_folders.h"

namespace troika::serve {

// Numbers that are not known are NaN, or 0 where they count from 1. Times in seconds since 1970.
struct RunSummary {
  std::string name, folder;
  std::string state;  // docs/formats/page-api.md has the words
  std::int64_t step = 0, steps = 0, tokens = 0;
  double loss = NAN, valid_loss = NAN, tokens_per_second = NAN, eta_seconds = NAN;
  std::string model, layout, precision;
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

}  // namespace troika::serve
