// The runs below the folder that is served, as they are now.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "exporters/exposition.h"
#include "serve/options.h"
#include "serve/run_summary.h"

namespace troika::serve {

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
  // Of what was read before: waits for no disk.
  std::optional<std::string> known_folder_of(const std::string& name) const;
  std::vector<NamedFolder> sweeps() const;  // by name
  std::string openmetrics(exporters::TextFormat format) const;

  void look_again() const;  // something was started or ended: the next answer has read it

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::serve
