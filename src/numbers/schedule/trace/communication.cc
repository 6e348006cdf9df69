// Which part of each wait was communication (definition in summary.h).
#include "schedule/trace/communication.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace troika::schedule {

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

// What several ranks do together and an instruction waits for; its own kind when it is that itself.
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
