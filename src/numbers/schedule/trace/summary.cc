#include "schedule/trace/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "base/say.h"
#include "base/units.h"

namespace troika::schedule {
namespace {

bool in_pipeline(Kind kind) {
  return traits(kind).part == Part::pipeline || traits(kind).part == Part::pipeline_or_update;
}

struct Extent {
  double begin = std::numeric_limits<double>::infinity();
  double end = -std::numeric_limits<double>::infinity();

  void include(const Event& event) {
    begin = std::min(begin, event.begin_seconds);
    end = std::max(end, event.end_seconds);
  }
  double seconds() const { return std::max(0.0, end - begin); }
  double inside(double from, double to) const { return std::max(0.0, std::min(to, end) - std::max(from, begin)); }
};

void extents(const StepTrace& trace, Extent* step, Extent* window) {
  for (const RankTimeline& timeline : trace.ranks) {
    for (const Event& event : timeline.events) {
      step->include(event);
      if (event.activity == Event::Activity::compute && is_computation(event.instruction.kind)) window->include(event);
    }
  }
}

RankSummary summarize_rank(const RankTimeline& timeline, const std::vector<Interval>& communication, const Extent& step,
                           const Extent& window) {
  RankSummary out{timeline.grid_rank, timeline.world_rank, timeline.host, {}, 0};
  out.time.span_seconds = step.seconds();
  double busy = 0;  // in the pipeline window
  for (const Event& event : timeline.events) {
    if (event.activity != Event::Activity::compute) continue;
    out.time.compute_seconds += event.end_seconds - event.begin_seconds;
    if (in_pipeline(event.instruction.kind)) busy += window.inside(event.begin_seconds, event.end_seconds);
  }
  for (const Interval& interval : communication) {
    out.time.communication_seconds += interval.end - interval.begin;
    busy += window.inside(interval.begin, interval.end);
  }
  const auto& time = out.time;
  out.time.bubble_seconds = std::max(0.0, time.span_seconds - time.compute_seconds - time.communication_seconds);
  if (window.seconds() > 0) out.pipeline_bubble_share = std::max(0.0, 1 - busy / window.seconds());
  return out;
}

}  // namespace

StepSummary summarize(const StepTrace& trace) {
  Extent step, window;
  extents(trace, &step, &window);
  const auto communication = communication_intervals(trace);
  StepSummary summary;
  summary.step_seconds = step.seconds();
  summary.window_seconds = window.seconds();
  for (std::size_t i = 0; i < trace.ranks.size(); ++i) {
    summary.ranks.push_back(summarize_rank(trace.ranks[i], communication[i], step, window));
    const RankSummary& rank = summary.ranks.back();
    summary.total.span_seconds += rank.time.span_seconds;
    summary.total.compute_seconds += rank.time.compute_seconds;
    summary.total.communication_seconds += rank.time.communication_seconds;
    summary.total.bubble_seconds += rank.time.bubble_seconds;
    summary.pipeline_bubble_share += rank.pipeline_bubble_share / static_cast<double>(trace.ranks.size());
  }
  return summary;
}

static std::string row(const std::string& who, const std::string& host, const TimeShares& time) {
  const auto cell = [&](double seconds) {
    return fmt::format("{:>8} {:>5.1f}%", base::format_duration(seconds), 100 * time.share(seconds));
  };
  return fmt::format("{:<8} {:<16} {:>16} {:>16} {:>16}\n", who, host, cell(time.compute_seconds),
                     cell(time.communication_seconds), cell(time.bubble_seconds));
}

std::string to_text(const StepSummary& summary, base::Language language) {
  const auto word = [&](base::Phrase phrase) { return phrase.in(language); };
  std::string text = fmt::format("{:<8} {:<16} {:>16} {:>16} {:>16}\n", "", word(base::Phrase("host")),
                                 word(base::Phrase("compute")), word(base::Phrase("communication")),
                                 word(base::Phrase("bubble")));
  for (const RankSummary& rank : summary.ranks)
    text += row(fmt::format("rank {}", rank.world_rank), rank.host, rank.time);
  text += row(std::string(word(base::Phrase("all"))), "", summary.total);
  return text + base::say("step {}, pipeline part {}, pipeline bubble {:.1f}%\n", base::format_duration(summary.step_seconds),
                          base::format_duration(summary.window_seconds), 100 * summary.pipeline_bubble_share)
                    .in(language);
}

namespace {

// The kind of message an instruction is or waits for; false when there is none.
bool find_message(Kind waiting, Kind* message) {
  *message = waiting;
  if (traits(waiting).role == Role::receive) return true;
  for (const Awaited& wait : traits(waiting).waits) {
    if (wait.scope != Scope::same_pass) continue;
    *message = wait.kind;
    return true;
  }
  return false;
}

// The exchange of several ranks that an instruction waits for; its own kind when it is one itself.
Kind find_exchange(Kind waiting) {
  for (const Awaited& wait : traits(waiting).waits) {
    if (wait.scope == Scope::same_segments && is_exchange(wait.kind)) return wait.kind;
  }
  return waiting;
}

// When the data of a wait had been produced.
class Producers {
 public:
  explicit Producers(const StepTrace& trace) {
    for (const RankTimeline& timeline : trace.ranks) note_rank(timeline);
  }

  double time_of(const Instruction& waiting, double otherwise) const {
    Kind message = waiting.kind;
    if (find_message(waiting.kind, &message)) {
      const Pass producer = traits(message).payload == Payload::activation ? forward_pass : input_pass;
      const auto found = ended_.find({producer, waiting.microbatch, waiting.stage + stage_offset(message)});
      return found == ended_.end() ? otherwise : found->second;
    }
    const bool for_another = waits_for(waiting.kind, waiting.kind) == Scope::all;
    if (is_computation(waiting.kind) || for_another) return otherwise;
    Instruction meeting = waiting;
    meeting.kind = find_exchange(waiting.kind);
    return is_exchange(meeting.kind) ? last_arrival(meeting, otherwise) : otherwise;
  }

 private:
  using Ended = std::tuple<Pass, int, int>;     // pass, microbatch, stage
  using Key = std::tuple<Kind, int, int, int>;  // kind, -1, stage, segment

  // The ranks of a tied embedding name different stages; all of them count as one meeting.
  static Key joint_key(const Instruction& i) {
    return {i.kind, -1, traits(i.kind).peers == Peers::tied_stages ? -1 : i.stage, i.segment};
  }

  template <class Name>
  static void raise(std::map<Name, double>* times, const Name& key, double time) {
    const auto [at, first] = times->emplace(key, time);
    if (!first) at->second = std::max(at->second, time);
  }

  // A whole stage meets its segments, too.
  double last_arrival(const Instruction& i, double otherwise) const {
    const auto [kind, none, stage, segment] = joint_key(i);
    bool any = false;
    double last = 0;
    for (auto at = all_arrived_.lower_bound({kind, none, stage, -1}); at != all_arrived_.end(); ++at) {
      const auto [other_kind, other_none, other_stage, other_segment] = at->first;
      if (other_kind != kind || other_stage != stage) break;
      if (segment >= 0 && other_segment >= 0 && other_segment != segment) continue;
      last = any ? std::max(last, at->second) : at->second;
      any = true;
    }
    return any ? last : otherwise;
  }

  void note_rank(const RankTimeline& timeline) {
    std::map<Key, double> arrived;
    for (const Event& event : timeline.events) {
      const Instruction& i = event.instruction;
      for (const Pass pass : {forward_pass, input_pass}) {
        if (event.activity == Event::Activity::compute && has_pass(i.kind, pass))
          raise(&ended_, Ended{pass, i.microbatch, i.stage}, event.end_seconds);
      }
      if (is_exchange(i.kind)) {
        const auto [at, first] = arrived.emplace(joint_key(i), event.begin_seconds);
        if (!first) at->second = std::min(at->second, event.begin_seconds);
      }
    }
    for (const auto& [key, time] : arrived) raise(&all_arrived_, key, time);
  }

  std::map<Ended, double> ended_;
  std::map<Key, double> all_arrived_;
};

struct Standstill {
  Instruction instruction;
  Interval interval;
};

// The parts of `whole` that no interval of `covered` touches.
std::vector<Interval> gaps(const Interval& whole, std::vector<Interval> covered) {
  std::sort(covered.begin(), covered.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> result;
  double begin = whole.begin;
  for (const Interval& c : covered) {
    const double end = std::min(c.begin, whole.end);
    if (end > begin) result.push_back({begin, end});
    begin = std::max(begin, c.end);
  }
  if (begin < whole.end) result.push_back({begin, whole.end});
  return result;
}

// The waits of a rank, and what the transfers of its blocking instructions leave uncovered.
std::vector<Standstill> standstills(const RankTimeline& timeline) {
  std::vector<Standstill> result;
  std::vector<Interval> covered;
  for (const Event& event : timeline.events) {
    if (event.activity == Event::Activity::transfer) continue;
    covered.push_back({event.begin_seconds, event.end_seconds});
    if (event.activity == Event::Activity::wait) result.push_back({event.instruction, covered.back()});
  }
  for (const Event& event : timeline.events) {
    if (event.activity != Event::Activity::transfer || !blocks(event.instruction.kind)) continue;
    for (const Interval& gap : gaps({event.begin_seconds, event.end_seconds}, covered)) {
      covered.push_back(gap);
      result.push_back({event.instruction, gap});
    }
  }
  return result;
}

}  // namespace

std::vector<std::vector<Interval>> communication_intervals(const StepTrace& trace) {
  const Producers producers(trace);
  std::vector<std::vector<Interval>> ranks;
  for (const RankTimeline& timeline : trace.ranks) {
    auto& intervals = ranks.emplace_back();
    for (const auto& [instruction, interval] : standstills(timeline)) {
      const double begin = std::max(interval.begin, producers.time_of(instruction, interval.begin));
      if (begin < interval.end) intervals.push_back({begin, interval.end});
    }
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  }
  return ranks;
}

}  // namespace troika::schedule
