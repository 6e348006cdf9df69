// Reads a run's folder, repeatedly while it grows, for companions that watch a run or explain it afterwards. It never
// writes, so that it cannot disturb a run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/step_metrics.h"
#include "records/event.h"
#include "records/run_state.h"
#include "records/sample.h"

namespace troika::records {

std::string state_path(const std::string& folder);              // RUN/state.json
std::string events_path(const std::string& folder);             // RUN/events.jsonl
std::string samples_folder(const std::string& folder);          // RUN/records
std::string samples_name(int rank);                             // "records/rank-00000.jsonl"
std::string samples_path(const std::string& folder, int rank);  // RUN/records/rank-00000.jsonl

// How much is kept; 0: all.
struct Kept {
  std::size_t steps = 0, samples_of_rank = 0, events = 0;
  std::int64_t tail_bytes =
      0;  // of metrics.jsonl and events.jsonl as the first look finds them, so much of their end is read
};

// Threads: one.
class RunReader {
 public:
  // `folder` need not be a run yet.
  explicit RunReader(std::string folder, const Kept& kept = {});
  ~RunReader();
  RunReader(const RunReader&) = delete;
  RunReader& operator=(const RunReader&) = delete;

  // Reads what was written since; true when there was anything. Lines that are damaged are left out.
  bool refresh();

  const std::string& folder() const;
  const std::optional<RunState>& state() const;
  const std::deque<metrics::StepMetrics>& steps() const;     // ascending
  const std::map<int, std::deque<Sample>>& samples() const;  // by rank, in order
  const std::deque<Event>& events() const;                   // in order; those that several hosts wrote, once
  std::int64_t steps_read() const;                           // kept or not
  std::int64_t rows_left_out() const;                        // damaged ones of metrics.jsonl

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The last sample of each rank in the newest attempt that has samples.
std::map<int, Sample> newest(const RunReader& run);

// The files that Troika maintains in a run's folder (docs/guides/checkpoints.md), which no other output may overwrite
// or redirect.
inline constexpr std::array<std::string_view, 8> own_files = {"config.yaml",  "events.jsonl", "launch.lock", "metrics.jsonl",
                                                              "products.txt", "run.lock",     "run.log",     "state.json"};
inline constexpr std::array<std::string_view, 5> own_folders = {"checkpoints", "logs", "records", "timeline",
                                                                "tokenizer"};

}  // namespace troika::records
