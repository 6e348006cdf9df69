// Which part of each wait was communication (definition in summary.h).
#include <algorithm>
#include <map>
#include <tuple>

#include "schedule/summary.h"

namespace troika::schedule {

namespace {

using Key = std::tuple<Kind, int, int, int>;

bool is_joint(Kind kind) {
  return kind == Kind::gather_params || kind == Kind::reduce_grads || kind == Kind::gather_grads ||
         kind == Kind::reduce_tied || kind == Kind::norm || kind == Kind::loss;
}

bool blocks_lane(Kind kind) { return kind == Kind::reduce_tied || kind == Kind::norm || kind == Kind::loss; }

// What several lanes do together and an instruction waits for; its own kind when it is that itself.
Kind awaited(Kind waiting) {
  if (waiting == Kind::gather_grads) return Kind::reduce_grads;
  return waiting == Kind::step ? Kind::gather_grads : waiting;
}

// When the data of a wait had been produced.
class Producers {
 public:
  explicit Producers(const StepTrace& trace) {
    for (const LaneTrace& lane : trace.lanes) note_lane(lane);
  }

  double time_of(const Instruction& waiting, double otherwise) const {
    const int m = waiting.microbatch, s = waiting.stage;
    if (waiting.kind == Kind::fwd || waiting.kind == Kind::recv_act)
      return find(ended_, {Kind::fwd, m, s - 1, -1}, otherwise);
    if (is_backward(waiting.kind) || waiting.kind == Kind::recv_grad)
      return find(ended_, {Kind::bwd, m, s + 1, -1}, otherwise);
    if (waiting.kind == Kind::reduce_grads && m >= 0) return otherwise;  // it waits for another one
    Instruction meeting = waiting;
    meeting.kind = awaited(waiting.kind);
    return is_joint(meeting.kind) ? last_arrival(meeting, otherwise) : otherwise;
  }

 private:
  static bool is_backward(Kind kind) { return kind == Kind::bwd || kind == Kind::bwd_input; }

  // The lanes of reduce_tied name different stages; all of them count as one meeting.
  static Key joint_key(const Instruction& i) {
    return {i.kind, -1, i.kind == Kind::reduce_tied ? -1 : i.stage, i.segment};
  }

  static double find(const std::map<Key, double>& times, const Key& key, double otherwise) {
    const auto found = times.find(key);
    return found == times.end() ? otherwise : found->second;
  }

  static void raise(std::map<Key, double>* times, const Key& key, double time) {
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

  void note_lane(const LaneTrace& lane) {
    std::map<Key, double> arrived;
    for (const Event& event : lane.events) {
      const Instruction& i = event.instruction;
      if (event.activity == Event::Activity::compute && (is_backward(i.kind) || i.kind == Kind::fwd)) {
        const Kind kind = is_backward(i.kind) ? Kind::bwd : Kind::fwd;
        raise(&ended_, {kind, i.microbatch, i.stage, -1}, event.end_seconds);
      }
      if (is_joint(i.kind)) {
        const auto [at, first] = arrived.emplace(joint_key(i), event.begin_seconds);
        if (!first) at->second = std::min(at->second, event.begin_seconds);
      }
    }
    for (const auto& [key, time] : arrived) raise(&all_arrived_, key, time);
  }

  std::map<Key, double> ended_, all_arrived_;
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

// The waits of a lane, and what the transfers of its blocking instructions leave uncovered.
std::vector<Standstill> standstills(const LaneTrace& lane) {
  std::vector<Standstill> result;
  std::vector<Interval> covered;
  for (const Event& event : lane.events) {
    if (event.activity == Event::Activity::transfer) continue;
    covered.push_back({event.begin_seconds, event.end_seconds});
    if (event.activity == Event::Activity::wait) result.push_back({event.instruction, covered.back()});
  }
  for (const Event& event : lane.events) {
    if (event.activity != Event::Activity::transfer || !blocks_lane(event.instruction.kind)) continue;
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
  std::vector<std::vector<Interval>> lanes;
  for (const LaneTrace& lane : trace.lanes) {
    auto& intervals = lanes.emplace_back();
    for (const auto& [instruction, interval] : standstills(lane)) {
      const double begin = std::max(interval.begin, producers.time_of(instruction, interval.begin));
      if (begin < interval.end) intervals.push_back({begin, interval.end});
    }
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  }
  return lanes;
}

}  // namespace troika::schedule
