#include "schedule/trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "schedule/activity.h"

namespace troika::schedule {

using nlohmann::json;

std::string rank_trace_name(std::int64_t step, int world_rank) {
  return fmt::format("timeline_batch{}_rank{}.json", step, world_rank);
}

std::string merged_trace_name(std::int64_t step) { return fmt::format("timeline_batch{}_all.json", step); }

std::string write_rank_trace(const RankTrace& trace) {
  json events = json::array();
  for (const Event& event : trace.lane.events) {
    events.push_back({{"instruction", to_text(event.instruction)},
                      {"activity", activity_name(event.activity)},
                      {"begin_seconds", event.begin_seconds},
                      {"end_seconds", event.end_seconds},
                      {"bytes", event.instruction.bytes}});
  }
  const json document = {{"step", trace.step},
                         {"lane", trace.lane.lane},
                         {"world_rank", trace.lane.world_rank},
                         {"host", trace.lane.host},
                         {"clock_offset_seconds", trace.clock_offset_seconds},
                         {"events", std::move(events)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

static Event read_event(const json& from, const std::string& origin) {
  Event event;
  event.instruction = read_instruction(base::json_string(from, "instruction", origin), origin);
  event.instruction.bytes = base::json_int(from, "bytes", origin);
  event.activity = read_activity(base::json_string(from, "activity", origin), origin);
  event.begin_seconds = read_seconds(from, "begin_seconds", 1, origin);
  event.end_seconds = read_seconds(from, "end_seconds", 1, origin);
  refuse_backwards(event, origin);
  return event;
}

RankTrace read_rank_trace(std::string_view text, const std::string& origin) {
  const json document = base::parse_json(text, origin);
  RankTrace trace;
  trace.step = base::json_int(document, "step", origin);
  trace.clock_offset_seconds = read_seconds(document, "clock_offset_seconds", 1, origin);
  trace.lane.lane = read_index(document, "lane", origin);
  trace.lane.world_rank = read_index(document, "world_rank", origin);
  trace.lane.host = read_host(document, origin);
  for (const json& event : base::json_array(document, "events", origin))
    trace.lane.events.push_back(read_event(event, origin));
  return trace;
}

static void refuse_mixture(const std::vector<RankTrace>& traces) {
  if (traces.empty()) throw base::DataError("there is no rank trace to merge");
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const auto& lane = traces[i].lane;
    if (traces[i].step != traces[0].step) {
      throw base::DataError(fmt::format("rank {} traced step {}, but rank {} step {}: merge files of one step",
                                        lane.world_rank, traces[i].step, traces[0].lane.world_rank, traces[0].step));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (traces[j].lane.world_rank != lane.world_rank) continue;
      throw base::DataError(
          fmt::format("rank {} comes twice in the traces of step {}", lane.world_rank, traces[0].step));
    }
  }
}

static void shift(LaneTrace* lane, double seconds) {
  for (Event& event : lane->events) {
    event.begin_seconds += seconds;
    event.end_seconds += seconds;
  }
}

StepTrace merge(const std::vector<RankTrace>& traces) {
  refuse_mixture(traces);
  StepTrace step;
  step.step = traces[0].step;
  double begin = std::numeric_limits<double>::infinity();
  for (const RankTrace& trace : traces) {
    step.lanes.push_back(trace.lane);
    shift(&step.lanes.back(), trace.clock_offset_seconds);
    for (const Event& event : step.lanes.back().events) begin = std::min(begin, event.begin_seconds);
  }
  for (LaneTrace& lane : step.lanes) {
    if (std::isfinite(begin)) shift(&lane, -begin);
    std::stable_sort(lane.events.begin(), lane.events.end(),
                     [](const Event& a, const Event& b) { return a.begin_seconds < b.begin_seconds; });
  }
  std::sort(step.lanes.begin(), step.lanes.end(),
            [](const LaneTrace& a, const LaneTrace& b) { return a.world_rank < b.world_rank; });
  return step;
}

StepTrace merge(const std::vector<std::string>& rank_files) {
  std::vector<RankTrace> traces;
  for (std::size_t i = 0; i < rank_files.size(); ++i)
    traces.push_back(read_rank_trace(rank_files[i], fmt::format("rank trace {}", i)));
  return merge(traces);
}

}  // namespace troika::schedule
