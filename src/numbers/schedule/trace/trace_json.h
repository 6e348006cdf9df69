// Traces as files, one per rank and step, and how those of a step become one trace.
//
// Rank file, timeline_batch<step>_rank<world_rank>.json; times on the rank's own clock:
//   {"step": 3, "lane": 1, "world_rank": 1, "host": "pi1", "clock_offset_seconds": -0.25,
//    "link": {"latency_seconds": 0.0002, "bytes_per_second": 1.1e7}, "events": [
//     {"instruction": "fwd 4.1", "activity": "compute", "begin_seconds": 1.5, "end_seconds": 1.75, "bytes": 0}, ...]}
//   clock_offset_seconds is what to add to get rank 0's clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/trace/trace.h"

namespace troika::schedule {

struct RankTrace {
  std::int64_t step = 0;
  double clock_offset_seconds = 0;  // added to this rank's clock gives rank 0's
  RankTimeline timeline;
  std::optional<Link> link{};
};

std::string rank_trace_name(std::int64_t step, int world_rank);
std::string merged_trace_name(std::int64_t step);

std::string write_rank_trace(const RankTrace& trace);
// `origin` is named in the DataError for what is not such a file.
RankTrace read_rank_trace(std::string_view text, const std::string& origin);

// One step of all ranks on rank 0's clock, shifted so that the first event begins at 0; ranks by world rank.
// DataError when there is no trace, steps differ, or a rank comes twice.
StepTrace merge(const std::vector<RankTrace>& traces);
StepTrace merge(const std::vector<std::string>& rank_files);  // their texts

}  // namespace troika::schedule
