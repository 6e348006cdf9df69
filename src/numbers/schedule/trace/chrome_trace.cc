#include "schedule/trace/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "schedule/trace/trace_fields.h"

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

static void append_rank(const RankTimeline& timeline, json* events) {
  const std::int64_t base_tid = tracks_per_rank * timeline.world_rank;
  std::vector<double> busy_until;
  json own = json::array();
  for (const Event& event : timeline.events) {
    const bool transfer = event.activity == Event::Activity::transfer;
    own.push_back(
        complete_event(event, timeline.grid_rank, base_tid + (transfer ? transfer_row(event, &busy_until) : 0)));
  }
  events->push_back(
      metadata("process_name", timeline.grid_rank, base_tid, fmt::format("grid rank {}", timeline.grid_rank)));
  const std::string who = fmt::format("rank {} on {}", timeline.world_rank, timeline.host);
  events->push_back(metadata("thread_name", timeline.grid_rank, base_tid, who));
  for (std::size_t row = 1; row <= busy_until.size(); ++row) {
    events->push_back(metadata("thread_name", timeline.grid_rank, base_tid + static_cast<std::int64_t>(row),
                               fmt::format("rank {} transfers", timeline.world_rank)));
  }
  for (json& event : own) events->push_back(std::move(event));
}

std::string write_chrome(const StepTrace& trace) {
  json events = json::array(), ranks = json::array();
  for (const RankTimeline& timeline : trace.ranks) {
    append_rank(timeline, &events);
    ranks.push_back({{"lane", timeline.grid_rank}, {"world_rank", timeline.world_rank}, {"host", timeline.host}});
  }
  json other = {{"writer", "troika"}, {"step", trace.step}, {"lanes", std::move(ranks)}};
  write_link(trace.link, &other);
  const json document = {
      {"displayTimeUnit", "ms"}, {"otherData", std::move(other)}, {"traceEvents", std::move(events)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

static Event read_complete_event(const json& from, const std::string& origin) {
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
  trace.link = read_link(other, origin);
  std::map<std::int64_t, std::size_t> index_of_rank;
  for (const json& rank : base::json_array(other, "lanes", origin)) {
    const int world_rank = read_index(rank, "world_rank", origin);
    index_of_rank[world_rank] = trace.ranks.size();
    trace.ranks.push_back({read_index(rank, "lane", origin), world_rank, read_host(rank, origin), {}});
  }
  for (const json& event : base::json_array(document, "traceEvents", origin)) {
    if (base::json_string(event, "ph", origin) != "X") continue;
    const auto rank = index_of_rank.find(base::json_int(event, "tid", origin) / tracks_per_rank);
    if (rank == index_of_rank.end()) throw base::DataError(base::say("{}: an event's tid belongs to no rank of otherData", origin));
    trace.ranks[rank->second].events.push_back(read_complete_event(event, origin));
  }
  return trace;
}

}  // namespace troika::schedule
