// Which part of each wait was communication (definition in summary.h).
#include <algorithm>
#include <map>
#include <tuple>

#include "schedule/summary.h"

namespace troika::schedule {

namespace {

using Key = std::tuple<Kind, int, int, int>;

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
    if (waiting.kind == Kind::bwd || waiting.kind == Kind::bwd_input || waiting.kind == Kind::recv_grad) {
      return find(ended_, {Kind::bwd, m, s + 1, -1}, otherwise);
    }
    if (is_joint(waiting.kind)) return find(all_arrived_, joint_key(waiting), otherwise);
    return otherwise;
  }

 private:
  static bool is_joint(Kind kind) {
    return kind == Kind::reduce_grads || kind == Kind::reduce_tied || kind == Kind::norm;
  }
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

  void note_lane(const LaneTrace& lane) {
    std::map<Key, double> arrived;
    for (const Event& event : lane.events) {
      const Instruction& i = event.instruction;
      const bool backward = i.kind == Kind::bwd || i.kind == Kind::bwd_input;
      if (event.activity == Event::Activity::compute && (backward || i.kind == Kind::fwd)) {
        raise(&ended_, {backward ? Kind::bwd : Kind::fwd, i.microbatch, i.stage, -1}, event.end_seconds);
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

}  // namespace

std::vector<std::vector<Interval>> communication_intervals(const StepTrace& trace) {
  const Producers producers(trace);
  std::vector<std::vector<Interval>> lanes;
  for (const LaneTrace& lane : trace.lanes) {
    auto& intervals = lanes.emplace_back();
    for (const Event& event : lane.events) {
      if (event.activity != Event::Activity::wait) continue;
      const double produced = producers.time_of(event.instruction, event.begin_seconds);
      const double begin = std::max(event.begin_seconds, produced);
      if (begin < event.end_seconds) intervals.push_back({begin, event.end_seconds});
    }
  }
  return lanes;
}

}  // namespace troika::schedule
