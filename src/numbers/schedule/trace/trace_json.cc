#include "schedule/trace/trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "schedule/trace/trace_fields.h"

namespace troika::schedule {

using nlohmann::json;

std::string rank_trace_name(std::int64_t step, int world_rank) {
  return fmt::format("timeline_batch{}_rank{}.json", step, world_rank);
}

std::string merged_trace_name(std::int64_t step) { return fmt::format("timeline_batch{}_all.json", step); }

std::string write_rank_trace(const RankTrace& trace) {
  json events = json::array();
  for (const Event& event : trace.timeline.events) {
    events.push_back({{"instruction", to_text(event.instruction)},
                      {"activity", activity_name(event.activity)},
                      {"begin_seconds", event.begin_seconds},
                      {"end_seconds", event.end_seconds},
                      {"bytes", event.instruction.bytes}});
  }
  json document = {{"step", trace.step},
                   {"lane", trace.timeline.grid_rank},
                   {"world_rank", trace.timeline.world_rank},
                   {"host", trace.timeline.host},
                   {"clock_offset_seconds", trace.clock_offset_seconds},
                   {"events", std::move(events)}};
  write_link(trace.link, &document);
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
  trace.timeline.grid_rank = read_index(document, "lane", origin);
  trace.timeline.world_rank = read_index(document, "world_rank", origin);
  trace.timeline.host = read_host(document, origin);
  trace.link = read_link(document, origin);
  for (const json& event : base::json_array(document, "events", origin))
    trace.timeline.events.push_back(read_event(event, origin));
  return trace;
}

static void refuse_mixture(const std::vector<RankTrace>& traces) {
  if (traces.empty()) throw base::DataError(base::say("there is no rank trace to merge"));
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const RankTimeline& timeline = traces[i].timeline;
    if (traces[i].step != traces[0].step) {
      throw base::DataError(base::say("rank {} traced step {}, but rank {} step {}: merge files of one step", timeline.world_rank, traces[i].step,
                                      traces[0].timeline.world_rank, traces[0].step));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (traces[j].timeline.world_rank != timeline.world_rank) continue;
      throw base::DataError(base::say("rank {} comes twice in the traces of step {}", timeline.world_rank, traces[0].step));
    }
  }
}

static void shift(RankTimeline* timeline, double seconds) {
  for (Event& event : timeline->events) {
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
    step.ranks.push_back(trace.timeline);
    if (!step.link) step.link = trace.link;
    shift(&step.ranks.back(), trace.clock_offset_seconds);
    for (const Event& event : step.ranks.back().events) begin = std::min(begin, event.begin_seconds);
  }
  for (RankTimeline& timeline : step.ranks) {
    if (std::isfinite(begin)) shift(&timeline, -begin);
    std::stable_sort(timeline.events.begin(), timeline.events.end(),
                     [](const Event& a, const Event& b) { return a.begin_seconds < b.begin_seconds; });
  }
  std::sort(step.ranks.begin(), step.ranks.end(),
            [](const RankTimeline& a, const RankTimeline& b) { return a.world_rank < b.world_rank; });
  return step;
}

StepTrace merge(const std::vector<std::string>& rank_files) {
  std::vector<RankTrace> traces;
  for (std::size_t i = 0; i < rank_files.size(); ++i)
    traces.push_back(read_rank_trace(rank_files[i], fmt::format("rank trace {}", i)));
  return merge(traces);
}

}  // namespace troika::schedule
