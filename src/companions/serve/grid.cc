#include "serve/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/say.h"
#include "records/run_state.h"
#include "schedule/trace/trace_json.h"
#include "serve/routes.h"
#include "base/run_files.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

// JSON of a trace takes ten times its text while it is read.
constexpr std::int64_t most_trace_bytes = 16 << 20;

std::string trace_text(const std::string& folder, const std::string& name) {
  std::optional<std::string> text = base::text_of_run(folder, "timeline/" + name, most_trace_bytes);
  if (!text) throw base::DataError(base::say("timeline/{} cannot be read", name));
  return *std::move(text);
}

// Writes nothing, unlike schedule::load_trace.
schedule::StepTrace recorded_step(const std::string& folder, std::int64_t step, const schedule::StepFiles& files) {
  if (files.merged) {
    const std::string name = schedule::merged_trace_name(step);
    return schedule::read_chrome(trace_text(folder, name), name);
  }
  std::vector<schedule::RankTrace> ranks;
  std::int64_t bytes = 0;
  for (const auto& [rank, name] : files.rank_files) {
    const std::string text = trace_text(folder, name);
    bytes += static_cast<std::int64_t>(text.size());
    if (bytes > most_trace_bytes) throw base::DataError(base::say("the timeline of step {} is too large for the page; `troika timeline` merges it", step));
    ranks.push_back(schedule::read_rank_trace(text, name));
  }
  return schedule::merge(ranks);
}

double length(const schedule::Event& event) { return event.end_seconds - event.begin_seconds; }

// To a hundredth of a microsecond.
double rounded(double seconds) { return std::round(seconds * 1e8) / 1e8; }

Json lanes_json(const schedule::StepTrace& trace, double begin) {
  Json lanes = Json::array();
  for (const schedule::RankTimeline& rank : trace.ranks) {
    Json events = Json::array();
    for (const schedule::Event& event : rank.events)
      events.push_back(Json::array({rounded(event.begin_seconds - begin), rounded(event.end_seconds - begin),
                                    static_cast<int>(event.activity), schedule::to_text(event.instruction),
                                    event.instruction.bytes}));
    lanes.push_back({{"rank", rank.world_rank}, {"host", rank.host}, {"events", std::move(events)}});
  }
  return lanes;
}

std::pair<double, double> span_of(const schedule::StepTrace& trace) {
  double begin = 0, end = 0;
  bool first = true;
  for (const schedule::RankTimeline& rank : trace.ranks) {
    for (const schedule::Event& event : rank.events) {
      begin = first ? event.begin_seconds : std::min(begin, event.begin_seconds);
      end = first ? event.end_seconds : std::max(end, event.end_seconds);
      first = false;
    }
  }
  return {begin, end};
}

PlannedStep simulated_step(const std::string& folder, const config::Environment& environment, base::Language language) {
  const std::optional<std::string> text = base::text_of_run(folder, "state.json", 64 << 20);
  const std::optional<RunSize> size = size_of_run(text ? records::parse_run_state(*text) : std::nullopt);
  if (!size || !last_config(folder)) throw Refused{404, base::say("this run has no recorded steps and no plan yet; train.profile records steps")};
  return planned_step(plan_of_run(folder, *size), *size, environment, language);
}

}  // namespace

std::size_t keep_longest(schedule::StepTrace& trace, std::size_t most) {
  // Longest first; of equal ones those of the first lanes, in their order.
  std::vector<std::tuple<double, std::size_t, std::size_t>> all;
  for (std::size_t lane = 0; lane < trace.ranks.size(); ++lane)
    for (std::size_t i = 0; i < trace.ranks[lane].events.size(); ++i)
      all.emplace_back(-length(trace.ranks[lane].events[i]), lane, i);
  if (all.size() <= most) return 0;
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most), all.end());
  std::vector<std::vector<bool>> stays;
  for (const schedule::RankTimeline& rank : trace.ranks) stays.emplace_back(rank.events.size());
  for (std::size_t i = 0; i < most; ++i) stays[std::get<1>(all[i])][std::get<2>(all[i])] = true;
  for (std::size_t lane = 0; lane < trace.ranks.size(); ++lane) {
    std::vector<schedule::Event> kept;
    for (std::size_t i = 0; i < stays[lane].size(); ++i)
      if (stays[lane][i]) kept.push_back(trace.ranks[lane].events[i]);
    trace.ranks[lane].events = std::move(kept);
  }
  return all.size() - most;
}

std::string grid_json(const std::string& folder, std::optional<std::int64_t> step,
                      const config::Environment& environment, base::Language language) {
  std::map<std::int64_t, schedule::StepFiles> recorded;
  try {
    recorded = schedule::list_traces(folder + "/timeline");
  } catch (const base::DataError&) {  // it may not be read
  }
  Json steps = Json::array();
  for (const auto& [number, files] : recorded) steps.push_back(number);
  if (!step && !recorded.empty()) step = recorded.rbegin()->first;
  const auto found = step ? recorded.find(*step) : recorded.end();

  PlannedStep shown;
  if (found != recorded.end())
    shown.trace = recorded_step(folder, found->first, found->second);
  else
    shown = simulated_step(folder, environment, language);
  const auto note = [&](base::Phrase text, const auto& argument) {
    shown.notes.push_back(fmt::format(fmt::runtime(text.in(language)), argument));
  };
  if (shown.why_no_seconds) note(base::Phrase("All computations are drawn equally long because the rates of this machine are unknown: {0}"), shown.why_no_seconds->in(language));
  const auto [begin, end] = span_of(shown.trace);
  if (const std::size_t left_out = keep_longest(shown.trace, most_grid_events); left_out > 0)
    note(base::Phrase("The {0} shortest intervals are left out."), left_out);
  Json answer = {{"steps", std::move(steps)},
                 {"step", step ? Json(*step) : Json(nullptr)},
                 {"seconds", rounded(end - begin)},
                 {"lanes", lanes_json(shown.trace, begin)},
                 {"notes", shown.notes}};
  if (found == recorded.end()) answer["simulated"] = true;
  return json_line(answer);
}

}  // namespace troika::serve
