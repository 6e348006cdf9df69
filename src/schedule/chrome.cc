// The merged trace in the trace event format.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "schedule/activity.h"
#include "schedule/trace_json.h"

namespace troika::schedule {

using nlohmann::json;

static constexpr std::int64_t tracks_per_rank = 32;

static json metadata(const char* what, int pid, std::int64_t tid, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}};
}

static json complete_event(const Event& event, int pid, std::int64_t tid) {
  const std::string text = to_text(event.instruction);
  const bool waits = event.activity == Event::Activity::wait;
  return {{"name", waits ? "wait: " + text : text},
          {"cat", activity_name(event.activity)},
          {"ph", "X"},
          {"pid", pid},
          {"tid", tid},
          {"ts", event.begin_seconds * 1e6},
          {"dur", (event.end_seconds - event.begin_seconds) * 1e6},
          {"args", {{"instruction", text}, {"bytes", event.instruction.bytes}}}};
}

// The first row on which a transfer overlaps no other; the last row takes what is left over.
static std::int64_t transfer_row(const Event& event, std::vector<double>* busy_until) {
  const auto free =
      std::find_if(busy_until->begin(), busy_until->end(), [&](double end) { return end <= event.begin_seconds; });
  const auto row = static_cast<std::size_t>(free - busy_until->begin());
  if (row == busy_until->size() && row + 1 == tracks_per_rank) return tracks_per_rank - 1;
  if (row == busy_until->size()) busy_until->push_back(0);
  (*busy_until)[row] = event.end_seconds;
  return static_cast<std::int64_t>(row) + 1;
}

static void append_lane(const LaneTrace& lane, json* events) {
  const std::int64_t base_tid = tracks_per_rank * lane.world_rank;
  std::vector<double> busy_until;
  json own = json::array();
  for (const Event& event : lane.events) {
    const bool transfer = event.activity == Event::Activity::transfer;
    own.push_back(complete_event(event, lane.lane, base_tid + (transfer ? transfer_row(event, &busy_until) : 0)));
  }
  events->push_back(metadata("process_name", lane.lane, base_tid, fmt::format("lane {}", lane.lane)));
  const std::string who = fmt::format("rank {} on {}", lane.world_rank, lane.host);
  events->push_back(metadata("thread_name", lane.lane, base_tid, who));
  for (std::size_t row = 1; row <= busy_until.size(); ++row) {
    events->push_back(metadata("thread_name", lane.lane, base_tid + static_cast<std::int64_t>(row),
                               fmt::format("rank {} transfers", lane.world_rank)));
  }
  for (json& event : own) events->push_back(std::move(event));
}

std::string write_chrome(const StepTrace& trace) {
  json events = json::array(), lanes = json::array();
  for (const LaneTrace& lane : trace.lanes) {
    append_lane(lane, &events);
    lanes.push_back({{"lane", lane.lane}, {"world_rank", lane.world_rank}, {"host", lane.host}});
  }
  const json document = {{"displayTimeUnit", "ms"},
                         {"otherData", {{"writer", "troika"}, {"step", trace.step}, {"lanes", std::move(lanes)}}},
                         {"traceEvents", std::move(events)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

static Event read_event(const json& from, const std::string& origin) {
  const json& args = base::json_object(from, "args", origin);
  Event event;
  event.instruction = read_instruction(base::json_string(args, "instruction", origin), origin);
  event.instruction.bytes = base::json_int(args, "bytes", origin);
  event.activity = read_activity(base::json_string(from, "cat", origin), origin);
  event.begin_seconds = read_seconds(from, "ts", 1e-6, origin);
  event.end_seconds = event.begin_seconds + read_seconds(from, "dur", 1e-6, origin);
  refuse_backwards(event, origin);
  return event;
}

StepTrace read_chrome(std::string_view text, const std::string& origin) {
  const json document = base::parse_json(text, origin);
  const json& other = base::json_object(document, "otherData", origin);
  StepTrace trace;
  trace.step = base::json_int(other, "step", origin);
  std::map<std::int64_t, std::size_t> lane_of_rank;
  for (const json& lane : base::json_array(other, "lanes", origin)) {
    const int world_rank = read_index(lane, "world_rank", origin);
    lane_of_rank[world_rank] = trace.lanes.size();
    trace.lanes.push_back({read_index(lane, "lane", origin), world_rank, read_host(lane, origin), {}});
  }
  for (const json& event : base::json_array(document, "traceEvents", origin)) {
    if (base::json_string(event, "ph", origin) != "X") continue;
    const auto lane = lane_of_rank.find(base::json_int(event, "tid", origin) / tracks_per_rank);
    if (lane == lane_of_rank.end())
      throw base::DataError(fmt::format("{}: an event's tid belongs to no rank of otherData", origin));
    trace.lanes[lane->second].events.push_back(read_event(event, origin));
  }
  return trace;
}

}  // namespace troika::schedule
