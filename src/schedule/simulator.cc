#include "schedule/simulator.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "schedule/exchange_seconds.h"
#include "schedule/fault.h"
#include "schedule/flow.h"

namespace troika::schedule {

namespace {

constexpr double unknown = -1;

bool is_copy(Kind kind) { return kind == Kind::fetch || kind == Kind::offload; }
bool is_send(Kind kind) { return kind == Kind::send_act || kind == Kind::send_grad; }

// Only starts something: of no note on the lane itself unless it takes the processor time.
bool only_starts(Kind kind) { return (is_communication(kind) && !blocks(kind)) || is_copy(kind); }

class Simulation {
 public:
  Simulation(const Program& program, const CostModel& costs)
      : program_(program), costs_(costs), flow_(derive_flow(program)) {
    lanes_.resize(program.lanes.size());
    meetings_.resize(flow_.meetings.size());
  }

  StepTrace run() {
    for (std::size_t l = 0; l < lanes_.size(); ++l) wake_.push({0, l});
    while (!wake_.empty()) {
      const auto [now, lane] = wake_.top();
      wake_.pop();
      advance(lane, now);
    }
    refuse_deadlock();
    return trace();
  }

 private:
  enum class Phase { arrive, wait, meet };  // at an instruction
  struct Timed {
    Event event;
    std::size_t index;
  };
  struct Lane {
    std::size_t next = 0;
    Phase phase = Phase::arrive;
    double arrived = 0;    // when the lane came to its instruction
    double ready = 0;      // when what was looked at of its waits was complete,
    std::size_t seen = 0;  // which is this many of them
    bool parked = false;   // until something completes at a time not yet known
    std::size_t open = 0;  // meetings it takes part in whose end is not known
    double last_done = 0;  // of the others, and
    std::size_t last = 0;  // the instruction of the one that ends last
    double link_free = 0, copier_free = 0;
    std::vector<Timed> events;
  };
  struct Progress {
    std::vector<double> posted;  // by party
    std::size_t come = 0;        // parties
    double done = unknown;
  };

  const Instruction& at(const Place& place) const { return program_.lanes[place.lane][place.index]; }
  double seconds(const Instruction& i) const { return costs_.seconds ? costs_.seconds(i) : 0; }

  // Called in the order of time. A lane has at most one entry in wake_.
  void advance(std::size_t l, double now) {
    Lane& lane = lanes_[l];
    if (lane.next == program_.lanes[l].size()) return finish(l, now);
    const std::size_t index = lane.next;
    if (lane.phase == Phase::arrive) {
      lane.arrived = now;
      lane.phase = Phase::wait;
      lane.seen = 0;
      lane.ready = now;
    }
    if (lane.phase == Phase::wait) {
      if (!complete(l, flow_.waits[l][index], now)) return;
      post(l, index, now);
      lane.phase = Phase::meet;
      lane.seen = 0;
    }
    if (blocks(at({l, index}).kind) && !complete(l, {flow_.meeting_of[l][index]}, now)) return;
    proceed(l, index, now);
  }

  // True when all of them are complete now; else the lane will be woken again.
  bool complete(std::size_t l, const std::vector<std::size_t>& meetings, double now) {
    Lane& lane = lanes_[l];
    for (; lane.seen < meetings.size(); ++lane.seen) {
      const double done = meetings_[meetings[lane.seen]].done;
      lane.parked = done == unknown;
      if (lane.parked) return false;
      lane.ready = std::max(lane.ready, done);
    }
    if (lane.ready > now) wake_.push({lane.ready, l});
    return lane.ready <= now;
  }

  void proceed(std::size_t l, std::size_t index, double now) {
    Lane& lane = lanes_[l];
    const Instruction& i = at({l, index});
    if (now > lane.arrived) record(l, index, Event::Activity::wait, lane.arrived, now);
    const double end = now + (is_copy(i.kind) ? 0 : seconds(i));
    if (end > now || !only_starts(i.kind)) record(l, index, Event::Activity::compute, now, end);
    ++lane.next;
    lane.phase = Phase::arrive;
    wake_.push({end, l});
  }

  void finish(std::size_t l, double now) {
    Lane& lane = lanes_[l];
    lane.parked = lane.open > 0;
    if (!lane.parked && lane.last_done > now) record(l, lane.last, Event::Activity::wait, now, lane.last_done);
  }

  void post(std::size_t l, std::size_t index, double now) {
    const std::size_t m = flow_.meeting_of[l][index];
    if (m == none) return;
    ++lanes_[l].open;
    const auto& parties = flow_.meetings[m].parties;
    Progress& progress = meetings_[m];
    progress.posted.resize(parties.size(), unknown);
    for (std::size_t p = 0; p < parties.size(); ++p) {
      if (parties[p].lane == l && parties[p].index == index) progress.posted[p] = now;
    }
    if (++progress.come == parties.size()) settle(m, now, begin(m, now));
  }

  // All parties have come. Returns when it will be complete.
  double begin(std::size_t m, double now) {
    const auto& parties = flow_.meetings[m].parties;
    const Instruction& i = at(parties[0]);
    Lane& lane = lanes_[parties[0].lane];
    if (is_copy(i.kind)) return lane.copier_free = std::max(now, lane.copier_free) + seconds(i);
    if (is_send(i.kind)) return begin_message(parties, now);
    const double taken = exchange_seconds(program_, costs_, parties);
    if (taken <= 0) return now;
    double free = now;
    for (const Place& party : parties) free = std::max(free, lanes_[party.lane].link_free);
    for (const Place& party : parties) lanes_[party.lane].link_free = free + taken;
    return free + taken;
  }

  double begin_message(const std::vector<Place>& parties, double now) {
    const std::size_t from = parties[0].lane, to = parties[1].lane;
    const Link wire = costs_.link ? costs_.link(static_cast<int>(from), static_cast<int>(to)) : Link{};
    double& link_free = lanes_[from].link_free;
    link_free = std::max(now, link_free) + static_cast<double>(at(parties[0]).bytes) / wire.bytes_per_second;
    return link_free + wire.latency_seconds;
  }

  void settle(std::size_t m, double now, double done) {
    meetings_[m].done = done;
    const auto& parties = flow_.meetings[m].parties;
    for (std::size_t p = 0; p < parties.size(); ++p) {
      const Place& place = parties[p];
      Lane& lane = lanes_[place.lane];
      if (only_starts(at(place).kind))
        record(place.lane, place.index, Event::Activity::transfer, meetings_[m].posted[p], done);
      --lane.open;
      if (done >= lane.last_done) {
        lane.last_done = done;
        lane.last = place.index;
      }
      if (lane.parked) wake_.push({now, place.lane});
      lane.parked = false;
    }
  }

  void record(std::size_t l, std::size_t index, Event::Activity activity, double begin, double end) {
    lanes_[l].events.push_back({{at({l, index}), activity, begin, end}, index});
  }

  void refuse_deadlock() const {
    std::string stuck;
    constexpr int most = 8;  // named
    int count = 0;
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      const std::size_t index = lanes_[l].next;
      if (index == program_.lanes[l].size() || ++count > most) continue;
      stuck +=
          fmt::format("{}lane {} at instruction {} '{}'", stuck.empty() ? "" : ", ", l, index, to_text(at({l, index})));
    }
    if (count == 0) return;
    const std::string others = count > most ? fmt::format(" and {} more", count - most) : "";
    throw base::BugError(
        fmt::format("step program is deadlocked: {}{} wait for each other or for a lane that ended", stuck, others));
  }

  StepTrace trace() {
    StepTrace step;
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      auto& events = lanes_[l].events;
      std::stable_sort(events.begin(), events.end(), [](const Timed& a, const Timed& b) {
        return std::pair(a.event.begin_seconds, a.index) < std::pair(b.event.begin_seconds, b.index);
      });
      LaneTrace lane{static_cast<int>(l), static_cast<int>(l), "simulated", {}};
      for (const Timed& timed : events) lane.events.push_back(timed.event);
      step.lanes.push_back(std::move(lane));
    }
    return step;
  }

  using Wake = std::pair<double, std::size_t>;
  const Program& program_;
  const CostModel& costs_;
  const Flow flow_;
  std::vector<Lane> lanes_;
  std::vector<Progress> meetings_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wake_;
};

}  // namespace

StepTrace simulate(const Program& program, const CostModel& costs) { return Simulation(program, costs).run(); }

}  // namespace troika::schedule
