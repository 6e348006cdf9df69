// Runs as metrics for Prometheus: what their folders tell, under names of prometheus.io's conventions. docs/guides/exporters.md lists
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exporters/exposition.h"
#include "http/server.h"
#include "records/run_reader.h"

namespace troika::exporters {

// How long steps took, over all that were seen, although the reader keeps but the last ones.
class StepSeconds {
 public:
  void follow(const records::RunReader& run);  // after each refresh

  static const std::vector<double>& bounds();
  const std::vector<std::int64_t>& counts() const { return counts_; }  // by bucket; the last one is above all bounds
  double sum() const { return sum_; }

 private:
  std::int64_t last_step_ = 0;
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(bounds().size() + 1, 0);
  double sum_ = 0;
};

// Seconds since 1970.
struct Moment {
  double now = 0;
  double last_row = 0;  // when metrics.jsonl was last written; 0: never
};
Moment moment_of(const std::string& run_folder);  // of now

// Only what the run has data for. Ranks that have not spoken for long are those of samples; ages are shown while a run is under way.
std::string openmetrics(const records::RunReader& run, const StepSeconds& seconds, const Moment& moment,
                        TextFormat format);

// Several on one page: every sample of a run has the label "run" with its name, which takes the place of the folder in
// troika_run_info.
struct NamedRun {
  std::string name;
  const records::RunReader& run;
  const StepSeconds& seconds;
  Moment moment;
};
std::string openmetrics(const std::vector<NamedRun>& runs, TextFormat format);

// The metrics that each rank and each host of a run has of its own.

// `now` in seconds since 1970.
void add_rank_families(Exposition& to, const records::RunReader& run, double now);

// The page /metrics of a run, for Prometheus.

// Reads the folder when asked, and only what is new; it need not be there yet. Serves from a thread of its own until destroyed. Errors
// as http::Server's.
class MetricsServer {
 public:
  MetricsServer(const std::string& run_folder, const http::ServerOptions& options);
  ~MetricsServer();
  std::string url() const;  // "http://127.0.0.1:9400/metrics"

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::exporters
