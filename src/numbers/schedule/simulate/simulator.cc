#include "schedule/simulate/simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "base/say.h"
#include "schedule/check/checker.h"

namespace troika::schedule {
CostModel unit_costs() {
  CostModel costs;
  costs.seconds = [](int, const Instruction& i) { return traits(i.kind).unit_seconds; };
  costs.link = [](int, int) { return Link{}; };
  return costs;
}

static double rounds_of(const Program& program, Kind kind, std::size_t ranks) {
  const Peers peers = traits(kind).peers;
  if (peers == Peers::world) return 2 * std::ceil(std::log2(static_cast<double>(ranks)));
  if (peers == Peers::tied_stages) return static_cast<double>(ranks - 1);
  return program.replicas - 1;
}

// By the formula of CostModel.
static double exchange_seconds(const Program& program, const CostModel& costs, const std::vector<Place>& parties) {
  const auto at = [&](const Place& p) -> const Instruction& { return program.ranks[p.rank][p.index]; };
  std::vector<int> ranks;
  for (const Place& party : parties) ranks.push_back(static_cast<int>(party.rank));
  if (costs.exchange_seconds) return costs.exchange_seconds(at(parties[0]), ranks);
  const double rounds = rounds_of(program, at(parties[0]).kind, ranks.size());
  if (rounds == 0 || !costs.link) return 0;
  std::int64_t bytes = 0;
  for (const Place& party : parties) bytes = std::max(bytes, at(party).bytes);
  double slowest = 0;
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    const Link wire = costs.link(ranks[p], ranks[(p + 1) % ranks.size()]);
    slowest = std::max(slowest, rounds * wire.latency_seconds + static_cast<double>(bytes) / wire.bytes_per_second);
  }
  return slowest;
}

namespace {

constexpr double unknown = -1;

bool is_copy(Kind kind) { return traits(kind).role == Role::copy; }

// Only starts something: of no note on the rank itself unless it takes the processor time.
bool only_starts(Kind kind) { return (is_communication(kind) && !blocks(kind)) || is_copy(kind); }

class Simulation {
 public:
  Simulation(const Program& program, const CostModel& costs, double most_seconds)
      : program_(program), costs_(costs), most_seconds_(most_seconds), dependencies_(derive_dependencies(program)) {
    ranks_.resize(program.ranks.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) add_up_computations(r);
    meetings_.resize(dependencies_.meetings.size());
    for (const double at_once : costs.processors.at_once) hosts_.emplace_back(at_once);
  }

  std::optional<StepTrace> run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) wake_.push({0, r});
    while (!wake_.empty()) {
      if (too_long_) return std::nullopt;
      const auto [now, rank] = wake_.top();
      wake_.pop();
      if (rank < ranks_.size()) {
        advance(rank, now);
      } else {
        finish_shared(rank - ranks_.size(), now);
      }
    }
    refuse_deadlock();
    for (const Rank& rank : ranks_) {
      for (const Timed& timed : rank.events)
        if (timed.event.end_seconds > most_seconds_) return std::nullopt;
    }
    return trace();
  }

 private:
  // At an instruction. Of a bwd that may wait between its halves the phases from first_half on.
  enum class Phase { arrive, wait, meet, compute, first_half, between_halves, second_half };
  struct Timed {
    Event event;
    std::size_t index;
  };
  struct Rank {
    std::vector<double> to_compute;  // by instruction: seconds of it and of all behind it
    std::size_t next = 0;
    Phase phase = Phase::arrive;
    double arrived = 0;                                 // when the rank came to its instruction
    double ready = 0;                                   // when what was looked at of its waits was complete,
    std::size_t seen = 0;                               // which is this many of them
    double begun = 0, half_done = 0, second_begun = 0;  // of its computation, and of its halves
    bool parked = false;                                // until something completes at a time not yet known
    std::size_t open = 0;                               // meetings it takes part in whose end is not known
    double last_done = 0;                               // of the others, and
    std::size_t last = 0;                               // the instruction of the one that ends last
    double link_free = 0, copier_free = 0;
    std::vector<Timed> events;
  };
  struct Progress {
    std::vector<double> posted;  // by party
    std::size_t come = 0;        // parties
    double done = unknown;
  };

  const Instruction& at(const Place& place) const { return program_.ranks[place.rank][place.index]; }
  double seconds(std::size_t rank, const Instruction& i) const {
    return costs_.seconds ? costs_.seconds(static_cast<int>(rank), i) : 0;
  }

  void add_up_computations(std::size_t r) {
    const auto& instructions = program_.ranks[r];
    std::vector<double>& sums = ranks_[r].to_compute;
    sums.assign(instructions.size() + 1, 0);
    for (std::size_t i = instructions.size(); i-- > 0;)
      sums[i] = sums[i + 1] + (is_copy(instructions[i].kind) ? 0 : seconds(r, instructions[i]));
  }

  // Called in the order of time. A rank has at most one entry in wake_.
  void advance(std::size_t r, double now) {
    Rank& rank = ranks_[r];
    if (rank.next == program_.ranks[r].size()) return finish(r, now);
    const std::size_t index = rank.next;
    if (rank.phase == Phase::compute) return finish_computation(r, index, now);
    if (rank.phase == Phase::second_half) return finish_halves(r, index, now);
    if (rank.phase == Phase::first_half) {
      rank.ready = rank.half_done = now;
      rank.phase = Phase::between_halves;
    }
    if (rank.phase == Phase::between_halves) {
      if (complete(r, dependencies_.waits_between_halves[r][index], now)) begin_second_half(r, index, now);
      return;
    }
    if (rank.phase == Phase::arrive) {
      too_long_ = too_long_ || now + rank.to_compute[index] > most_seconds_;
      rank.arrived = now;
      rank.phase = Phase::wait;
      rank.seen = 0;
      rank.ready = now;
    }
    if (rank.phase == Phase::wait) {
      if (!complete(r, dependencies_.waits[r][index], now)) return;
      post(r, index, now);
      rank.phase = Phase::meet;
      rank.seen = 0;
    }
    if (blocks(at({r, index}).kind) && !complete(r, {dependencies_.meeting_of[r][index]}, now)) return;
    proceed(r, index, now);
  }

  // True when all of them are complete now; else the rank will be woken again.
  bool complete(std::size_t r, const std::vector<std::size_t>& meetings, double now) {
    Rank& rank = ranks_[r];
    for (; rank.seen < meetings.size(); ++rank.seen) {
      const double done = meetings_[meetings[rank.seen]].done;
      rank.parked = done == unknown;
      if (rank.parked) return false;
      rank.ready = std::max(rank.ready, done);
    }
    if (rank.ready > now) wake_.push({rank.ready, r});
    return rank.ready <= now;
  }

  void proceed(std::size_t r, std::size_t index, double now) {
    Rank& rank = ranks_[r];
    const Instruction& i = at({r, index});
    if (now > rank.arrived) record(r, index, Event::Activity::wait, rank.arrived, now);
    rank.begun = now;
    const bool in_halves = !dependencies_.waits_between_halves[r][index].empty();
    rank.phase = in_halves ? Phase::first_half : Phase::compute;
    rank.seen = 0;
    compute(r, now, is_copy(i.kind) ? 0 : in_halves ? seconds(r, i) / 2 : seconds(r, i));
  }

  void finish_computation(std::size_t r, std::size_t index, double now) {
    if (now > ranks_[r].begun || !only_starts(at({r, index}).kind))
      record(r, index, Event::Activity::compute, ranks_[r].begun, now);
    go_on(r, now);
  }

  void go_on(std::size_t r, double now) {
    ++ranks_[r].next;
    ranks_[r].phase = Phase::arrive;
    wake_.push({now, r});
  }

  // Both halves take as long.
  void begin_second_half(std::size_t r, std::size_t index, double now) {
    ranks_[r].phase = Phase::second_half;
    ranks_[r].second_begun = now;
    compute(r, now, seconds(r, at({r, index})) / 2);
  }

  void finish_halves(std::size_t r, std::size_t index, double now) {
    const Rank& rank = ranks_[r];
    const bool waited = rank.second_begun > rank.half_done;
    if (waited) {
      record(r, index, Event::Activity::compute, rank.begun, rank.half_done);
      record(r, index, Event::Activity::wait, rank.half_done, rank.second_begun);
    }
    record(r, index, Event::Activity::compute, waited ? rank.second_begun : rank.begun, now);
    go_on(r, now);
  }

  // Wakes the rank when so many seconds of a processor are done.
  void compute(std::size_t r, double now, double seconds) {
    if (hosts_.empty() || seconds == 0) return wake_.push({now + seconds, r});
    const auto h = static_cast<std::size_t>(costs_.processors.host_of_rank[r]);
    Host& host = hosts_[h];
    host.advance(now);
    host.jobs.emplace(host.done + seconds, r);
    expect_next(h, now);
  }

  // Seconds of a processor that every computation under way on a host has had since the begin: a computation is done when
  // they reach what they were when it began and its own.
  struct Host {
    explicit Host(double ranks_at_once) : at_once(ranks_at_once) {}
    double rate() const { return std::min(1.0, at_once / static_cast<double>(std::max<std::size_t>(jobs.size(), 1))); }
    void advance(double now) {
      done += (now - since) * rate();
      since = now;
    }
    double at_once = 1, done = 0, since = 0;
    double next = unknown;                    // when it is woken
    std::multimap<double, std::size_t> jobs;  // ranks by when they are done
  };

  void expect_next(std::size_t h, double now) {
    Host& host = hosts_[h];
    host.next = host.jobs.empty() ? unknown : now + std::max(0.0, host.jobs.begin()->first - host.done) / host.rate();
    if (!host.jobs.empty()) wake_.push({host.next, ranks_.size() + h});
  }

  // The time may be one that was expected before other computations came or went.
  void finish_shared(std::size_t h, double now) {
    Host& host = hosts_[h];
    if (now != host.next) return;
    host.advance(now);
    host.done = std::max(host.done, host.jobs.begin()->first);  // rounding
    while (!host.jobs.empty() && host.jobs.begin()->first <= host.done) {
      wake_.push({now, host.jobs.begin()->second});
      host.jobs.erase(host.jobs.begin());
    }
    expect_next(h, now);
  }

  void finish(std::size_t r, double now) {
    Rank& rank = ranks_[r];
    if (rank.phase == Phase::arrive) rank.arrived = now;
    rank.phase = Phase::wait;
    rank.parked = rank.open > 0;
    if (!rank.parked && rank.last_done > rank.arrived)
      record(r, rank.last, Event::Activity::wait, rank.arrived, rank.last_done);
  }

  void post(std::size_t r, std::size_t index, double now) {
    const std::size_t m = dependencies_.meeting_of[r][index];
    if (m == no_meeting) return;
    ++ranks_[r].open;
    const auto& parties = dependencies_.meetings[m].parties;
    Progress& progress = meetings_[m];
    progress.posted.resize(parties.size(), unknown);
    for (std::size_t p = 0; p < parties.size(); ++p) {
      if (parties[p].rank == r && parties[p].index == index) progress.posted[p] = now;
    }
    if (++progress.come == parties.size()) finish_meeting(m, now, begin(m, now));
  }

  // All parties have come. Returns when it will be complete.
  double begin(std::size_t m, double now) {
    const auto& parties = dependencies_.meetings[m].parties;
    const Instruction& i = at(parties[0]);
    Rank& rank = ranks_[parties[0].rank];
    if (is_copy(i.kind)) return rank.copier_free = std::max(now, rank.copier_free) + seconds(parties[0].rank, i);
    if (is_message(i.kind)) return begin_message(parties, now);
    const double taken = exchange_seconds(program_, costs_, parties);
    if (taken <= 0) return now;
    double free = now;
    for (const Place& party : parties) free = std::max(free, ranks_[party.rank].link_free);
    for (const Place& party : parties) ranks_[party.rank].link_free = free + taken;
    return free + taken;
  }

  double begin_message(const std::vector<Place>& parties, double now) {
    const std::size_t from = parties[0].rank, to = parties[1].rank;
    const Link wire = costs_.link ? costs_.link(static_cast<int>(from), static_cast<int>(to)) : Link{};
    double& link_free = ranks_[from].link_free;
    link_free = std::max(now, link_free) + static_cast<double>(at(parties[0]).bytes) / wire.bytes_per_second;
    return link_free + wire.latency_seconds;
  }

  void finish_meeting(std::size_t m, double now, double done) {
    meetings_[m].done = done;
    const auto& parties = dependencies_.meetings[m].parties;
    for (std::size_t p = 0; p < parties.size(); ++p) {
      const Place& place = parties[p];
      Rank& rank = ranks_[place.rank];
      if (only_starts(at(place).kind))
        record(place.rank, place.index, Event::Activity::transfer, meetings_[m].posted[p], done);
      --rank.open;
      if (done >= rank.last_done) {
        rank.last_done = done;
        rank.last = place.index;
      }
      if (rank.parked) wake_.push({now, place.rank});
      rank.parked = false;
    }
  }

  void record(std::size_t r, std::size_t index, Event::Activity activity, double begin, double end) {
    ranks_[r].events.push_back({{at({r, index}), activity, begin, end}, index});
  }

  void refuse_deadlock() const {
    std::vector<base::Text> stuck;
    constexpr int most = 8;  // named
    int count = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const std::size_t index = ranks_[r].next;
      if (index == program_.ranks[r].size() || ++count > most) continue;
      stuck.push_back(base::say("grid rank {} at instruction {} '{}'", r, index, to_text(at({r, index}))));
    }
    if (count == 0) return;
    const base::Text others = count > most ? base::say(" and {} more", count - most) : base::Text{};
    throw UnsoundProgram(base::say("step program is deadlocked: {}{} wait for each other or for a rank that ended",
                                   base::join(stuck, ", ", "、"), others));
  }

  StepTrace trace() {
    StepTrace step;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      auto& events = ranks_[r].events;
      std::stable_sort(events.begin(), events.end(), [](const Timed& a, const Timed& b) {
        return std::pair(a.event.begin_seconds, a.index) < std::pair(b.event.begin_seconds, b.index);
      });
      RankTimeline rank{static_cast<int>(r), static_cast<int>(r), "simulated", {}};
      for (const Timed& timed : events) rank.events.push_back(timed.event);
      step.ranks.push_back(std::move(rank));
    }
    return step;
  }

  using Wake = std::pair<double, std::size_t>;
  const Program& program_;
  const CostModel& costs_;
  const double most_seconds_;
  bool too_long_ = false;
  const Dependencies dependencies_;
  std::vector<Rank> ranks_;
  std::vector<Progress> meetings_;
  std::vector<Host> hosts_;  // that share processors; woken as numbers behind the ranks'
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wake_;
};

}  // namespace

StepTrace simulate(const Program& program, const CostModel& costs) {
  return *simulate_within(program, costs, std::numeric_limits<double>::infinity());
}

std::optional<StepTrace> simulate_within(const Program& program, const CostModel& costs, double most_seconds) {
  return Simulation(program, costs, most_seconds).run();
}

}  // namespace troika::schedule
