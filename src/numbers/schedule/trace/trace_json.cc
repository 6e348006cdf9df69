#include "schedule/trace/trace_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::schedule {

using nlohmann::json;

static constexpr std::array<const char*, 3> activity_names = {"compute", "wait", "transfer"};

static const char* activity_name(Event::Activity activity) { return activity_names[static_cast<std::size_t>(activity)]; }

static Event::Activity read_activity(const std::string& text, const std::string& origin) {
  const auto found = std::find(activity_names.begin(), activity_names.end(), text);
  if (found != activity_names.end()) return static_cast<Event::Activity>(found - activity_names.begin());
  throw base::DataError(base::say("{}: '{}' is not compute, wait or transfer", origin, text));
}

static Instruction read_instruction(const std::string& text, const std::string& origin) {
  try {
    return parse_instruction(text);
  } catch (const base::ConfigError& error) {
    throw base::DataError(base::say("{}: {}", origin, base::text_of(error)));
  }
}

static int read_index(const json& object, const std::string& key, const std::string& origin) {
  const std::int64_t value = base::json_int(object, key, origin);
  if (value >= 0 && value <= std::numeric_limits<int>::max()) return static_cast<int>(value);
  throw base::DataError(base::say("{}: '{}' is {}, but it must be from 0 to {}", origin, key, value, std::numeric_limits<int>::max()));
}

static double read_seconds(const json& object, const std::string& key, double unit_seconds, const std::string& origin) {
  constexpr double longest = 3.2e13;  // differences and sums of such times are finite
  const double seconds = base::json_double(object, key, origin) * unit_seconds;
  if (std::abs(seconds) <= longest) return seconds;
  throw base::DataError(base::say("{}: '{}' is {:g} s, which is not a valid time", origin, key, seconds));
}

static void refuse_backwards(const Event& event, const std::string& origin) {
  if (event.end_seconds >= event.begin_seconds) return;
  throw base::DataError(
      base::say("{}: '{}' ends {:.9f} s before it begins", origin, to_text(event.instruction), event.begin_seconds - event.end_seconds));
}

static void write_link(const std::optional<Link>& link, json* object) {
  if (!link) return;
  (*object)["link"] = {{"latency_seconds", link->latency_seconds}, {"bytes_per_second", link->bytes_per_second}};
}

static std::optional<Link> read_link(const json& from, const std::string& origin) {
  if (!from.contains("link")) return std::nullopt;
  const json& link = base::json_object(from, "link", origin);
  const Link read{read_seconds(link, "latency_seconds", 1, origin),
                  base::json_double(link, "bytes_per_second", origin)};
  if (read.latency_seconds >= 0 && read.bytes_per_second > 0 && std::isfinite(read.bytes_per_second)) return read;
  throw base::DataError(base::say("{}: a link of {:g} s and {:g} bytes/s is invalid", origin, read.latency_seconds, read.bytes_per_second));
}

static std::string read_host(const json& object, const std::string& origin) {
  constexpr std::size_t longest = 255;  // of a host name
  return base::printable(base::json_string(object, "host", origin), longest);
}

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
      throw base::DataError(base::say("rank {} appears twice in the traces of step {}", timeline.world_rank, traces[0].step));
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
