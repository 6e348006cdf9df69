#include "schedule/simulator.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "schedule/fault.h"
#include "schedule/flow.h"

namespace troika::schedule {

namespace {

constexpr double unknown = -1;

bool runs_in_background(Kind kind) {
  switch (kind) {
    case Kind::send_act:
    case Kind::recv_act:
    case Kind::send_grad:
    case Kind::recv_grad:
    case Kind::gather_params:
    case Kind::offload:
    case Kind::fetch:
      return true;
    default:
      return false;
  }
}

class Simulation {
 public:
  Simulation(const Program& program, const CostModel& costs)
      : program_(program), costs_(costs), flow_(derive_flow(program)) {
    lanes_.resize(program.lanes.size());
    transfers_.resize(flow_.transfers.size());
    exchanges_.resize(flow_.exchanges.size());
    for (std::size_t l = 0; l < lanes_.size(); ++l) lanes_[l].started.assign(program.lanes[l].size(), unknown);
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
  struct Timed {
    Event event;
    std::size_t index;
  };
  struct Lane {
    std::size_t next = 0;
    std::vector<double> started;  // per instruction
    bool parked = false;
    double link_free = 0, copier_free = 0;
    std::vector<Timed> events;
  };
  struct Progress {
    std::size_t posted = 0;
    double done = unknown;
  };

  const Instruction& at(const Place& place) const { return program_.lanes[place.lane][place.index]; }
  double seconds(const Instruction& i) const { return costs_.seconds ? costs_.seconds(i) : 0; }
  Link link(std::size_t from, std::size_t to) const {
    return costs_.link ? costs_.link(static_cast<int>(from), static_cast<int>(to)) : Link{};
  }

  // One instruction: start what it starts, wait for what it needs, compute. Called in the order of time.
  void advance(std::size_t l, double now) {
    Lane& lane = lanes_[l];
    if (lane.next == program_.lanes[l].size()) return;
    const std::size_t index = lane.next;
    if (lane.started[index] == unknown) {
      lane.started[index] = now;
      if (at({l, index}).kind != Kind::fetch) post(l, index, now);
    }
    const double ready = ready_at(l, index);
    lane.parked = ready == unknown;
    if (!lane.parked) proceed(l, index, std::max(lane.started[index], ready));
  }

  void proceed(std::size_t l, std::size_t index, double begin) {
    Lane& lane = lanes_[l];
    const Instruction& i = at({l, index});
    if (begin > lane.started[index]) record(l, index, Event::Activity::wait, lane.started[index], begin);
    if (i.kind == Kind::fetch) post(l, index, begin);
    double end = begin;
    if (!runs_in_background(i.kind)) {
      end = begin + seconds(i);
      record(l, index, Event::Activity::compute, begin, end);
    }
    ++lane.next;
    wake_.push({end, l});
  }

  // When everything the instruction waits for is complete, or unknown.
  double ready_at(std::size_t l, std::size_t index) const {
    double ready = 0;
    const Waits& waits = flow_.waits[l][index];
    for (const std::size_t t : waits.transfers) {
      if (transfers_[t].done == unknown) return unknown;
      ready = std::max(ready, transfers_[t].done);
    }
    for (const std::size_t e : waits.exchanges) {
      if (exchanges_[e].done == unknown) return unknown;
      ready = std::max(ready, exchanges_[e].done);
    }
    return ready;
  }

  void post(std::size_t l, std::size_t index, double now) {
    const std::size_t t = flow_.transfer_of[l][index], e = flow_.exchange_of[l][index];
    if (t != none && ++transfers_[t].posted == 2) begin_transfer(t, now);
    if (e != none && ++exchanges_[e].posted == flow_.exchanges[e].parties.size()) begin_exchange(e, now);
  }

  void begin_transfer(std::size_t t, double now) {
    const Transfer& transfer = flow_.transfers[t];
    const Link wire = link(transfer.send.lane, transfer.receive.lane);
    double& link_free = lanes_[transfer.send.lane].link_free;
    link_free = std::max(now, link_free) + static_cast<double>(at(transfer.send).bytes) / wire.bytes_per_second;
    transfers_[t].done = link_free + wire.latency_seconds;
    for (const Place& end : {transfer.send, transfer.receive}) settle(end, now, transfers_[t].done);
  }

  void begin_exchange(std::size_t e, double now) {
    const auto& parties = flow_.exchanges[e].parties;
    const Instruction& i = at(parties[0]);
    if (i.kind == Kind::offload || i.kind == Kind::fetch) {
      double& copier_free = lanes_[parties[0].lane].copier_free;
      copier_free = std::max(now, copier_free) + seconds(i);
      exchanges_[e].done = copier_free;
    } else {
      exchanges_[e].done = now + exchange_seconds(i, parties);
    }
    for (const Place& party : parties) settle(party, now, exchanges_[e].done);
  }

  double exchange_seconds(const Instruction& i, const std::vector<Place>& parties) const {
    std::vector<int> lanes;
    for (const Place& party : parties) lanes.push_back(static_cast<int>(party.lane));
    if (costs_.exchange_seconds) return costs_.exchange_seconds(i, lanes);
    const auto n = static_cast<double>(parties.size());
    const double share = i.kind == Kind::norm ? 1 : n;
    double slowest = 0;  // one round over the slowest link of the ring
    for (std::size_t p = 0; p < parties.size() && parties.size() > 1; ++p) {
      const Link wire = link(parties[p].lane, parties[(p + 1) % parties.size()].lane);
      slowest = std::max(slowest, wire.latency_seconds + static_cast<double>(i.bytes) / share / wire.bytes_per_second);
    }
    if (i.kind == Kind::norm) return 2 * std::ceil(std::log2(n)) * slowest;
    return (i.kind == Kind::gather_params ? 1 : 2) * (n - 1) * slowest;
  }

  // The completion of something that an instruction started has become known.
  void settle(const Place& place, double now, double done) {
    Lane& lane = lanes_[place.lane];
    if (runs_in_background(at(place).kind)) {
      record(place.lane, place.index, Event::Activity::transfer, lane.started[place.index], done);
    }
    if (lane.parked) wake_.push({now, place.lane});
    lane.parked = false;
  }

  void record(std::size_t l, std::size_t index, Event::Activity activity, double begin, double end) {
    lanes_[l].events.push_back({{at({l, index}), activity, begin, end}, index});
  }

  void refuse_deadlock() const {
    std::string stuck;
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      const std::size_t index = lanes_[l].next;
      if (index == program_.lanes[l].size()) continue;
      stuck +=
          fmt::format("{}lane {} at instruction {} '{}'", stuck.empty() ? "" : ", ", l, index, to_text(at({l, index})));
    }
    if (!stuck.empty())
      throw base::BugError(
          fmt::format("step program is deadlocked: {} wait for each other or for a lane that ended", stuck));
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
  std::vector<Progress> transfers_, exchanges_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wake_;
};

}  // namespace

StepTrace simulate(const Program& program, const CostModel& costs) { return Simulation(program, costs).run(); }

}  // namespace troika::schedule
