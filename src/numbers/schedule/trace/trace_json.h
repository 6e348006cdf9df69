// Traces as files, one per rank and step, and how those of a step become one trace.
//
// Rank file, timeline_batch<step>_rank<world_rank>.json; times on the rank's own clock:
//   {"step": 3, "lane": 1, "world_rank": 1, "host": "pi1", "clock_offset_seconds": -0.25,
//    "link": {"latency_seconds": 0.0002, "bytes_per_second": 1.1e7}, "events": [
//     {"instruction": "fwd 4.1", "activity": "compute", "begin_seconds": 1.5, "end_seconds": 1.75, "bytes": 0}, ...]}
//   clock_offset_seconds is what to add to get rank 0's clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
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

// The merged trace of a step as a file that Perfetto and chrome://tracing open, timeline_batch<step>_all.json: the trace event format ("Trace Event Format", Google): ph X, pid = rank,
//   ts and dur in microseconds, tid = 32 * world_rank for compute and wait, +1 and up for transfers (as many rows as
//   overlap), args with the instruction's text; otherData holds step, ranks, ranks and hosts, so that it reads back.
std::string write_chrome(const StepTrace& trace);
// Reads what write_chrome wrote (times to a nanosecond). DataError for anything else.
StepTrace read_chrome(std::string_view text, const std::string& origin);

struct StepFiles {
  std::map<int, std::string> rank_files;  // world rank -> name
  bool merged = false;                    // the merged file exists
};

// The steps in the timeline folder of a run with at least one trace file, by step. Names of other forms are passed over.
std::map<std::int64_t, StepFiles> list_traces(const std::string& folder);

struct FoundTrace {
  StepTrace trace;
  std::string merged_path;
  std::vector<base::Text> notes;  // sentences, such as ranks whose file is missing
};

enum class MergedFile { use_if_present, write_again };

// The trace of a step, from its merged file or from the rank files, which are then merged and written.
FoundTrace load_trace(const std::string& folder, std::int64_t step, const StepFiles& files, MergedFile merged_file);

}  // namespace troika::schedule
