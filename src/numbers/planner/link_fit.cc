#include "planner/link_fit.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "base/statistics.h"
#include "schedule/check/dependencies.h"

namespace troika::planner {
namespace {

using schedule::Dependencies;
using schedule::Event;
using schedule::Instruction;
using schedule::Place;

constexpr double shortest_wait = 5e-5, clock_reading = 1e-5;  // seconds

struct Transfer {
  std::vector<int> senders;
  double bytes = 0;
  double ready = 0;  // all have come
  double done = 0;   // it is known when; else by the latest that knew it
  bool known = false;
};

struct Interval {
  double begin = 0, end = 0;
};

using Key = std::tuple<schedule::Kind, int, int, int>;
Key key_of(const Instruction& i) { return {i.kind, i.microbatch, i.stage, i.segment}; }

// The events of a grid rank by instruction; of its world ranks the first.
struct RankEvents {
  std::map<Key, Interval> transfers;
  std::map<Key, std::vector<Interval>> waits;
};

std::vector<RankEvents> events_of(const plan::Plan& plan, const schedule::StepTrace& step) {
  std::vector<RankEvents> ranks(plan.program.ranks.size());
  std::vector<bool> filled(ranks.size());
  for (const schedule::RankTimeline& timeline : step.ranks) {
    const auto rank = static_cast<std::size_t>(timeline.grid_rank);
    if (filled[rank]) continue;
    filled[rank] = true;
    for (const Event& event : timeline.events) {
      const Key key = key_of(event.instruction);
      if (event.activity == Event::Activity::wait)
        ranks[rank].waits[key].push_back({event.begin_seconds, event.end_seconds});
      if (event.activity != Event::Activity::transfer) continue;
      const auto [at, first] = ranks[rank].transfers.emplace(key, Interval{event.begin_seconds, event.end_seconds});
      if (first) continue;
      at->second.begin = std::min(at->second.begin, event.begin_seconds);
      at->second.end = std::max(at->second.end, event.end_seconds);
    }
  }
  return ranks;
}

class Transfers {
 public:
  Transfers(const plan::Plan& plan, const Crosses& crosses)
      : plan_(plan), crosses_(crosses), dependencies_(schedule::derive_dependencies(plan.program)) {
    waiting_.resize(plan.program.ranks.size());
    for (std::size_t r = 0; r < waiting_.size(); ++r) {
      const auto& instructions = plan.program.ranks[r];
      for (std::size_t index = 0; index < instructions.size(); ++index) {
        ++times_[{r, key_of(instructions[index])}];
        for (const std::size_t m : dependencies_.waits[r][index]) waiting_[r][m] = index;
        for (const std::size_t m : dependencies_.waits_between_halves[r][index]) waiting_[r][m] = index;
      }
    }
  }

  std::vector<Transfer> of(const schedule::StepTrace& step) const {
    const auto ranks = events_of(plan_, step);
    std::vector<Transfer> all;
    for (std::size_t m = 0; m < dependencies_.meetings.size(); ++m) add(m, ranks, &all);
    std::sort(all.begin(), all.end(), [](const Transfer& a, const Transfer& b) { return a.ready < b.ready; });
    return all;
  }

 private:
  const Instruction& at(const Place& place) const { return plan_.program.ranks[place.rank][place.index]; }

  // What stands in a program several times cannot be told apart.
  void add(std::size_t meeting, const std::vector<RankEvents>& ranks, std::vector<Transfer>* all) const {
    const auto& parties = dependencies_.meetings[meeting].parties;
    Transfer transfer;
    std::vector<int> members;
    for (const Place& party : parties) {
      const Instruction& i = at(party);
      const auto found = ranks[party.rank].transfers.find(key_of(i));
      if (found == ranks[party.rank].transfers.end() || times_.at({party.rank, key_of(i)}) > 1) return;
      members.push_back(static_cast<int>(party.rank));
      if (schedule::sends(i.kind)) transfer.senders.push_back(static_cast<int>(party.rank));
      transfer.bytes = std::max(transfer.bytes, static_cast<double>(i.bytes));
      transfer.ready = std::max(transfer.ready, found->second.begin);
      const bool receives = !schedule::is_message(i.kind) || !schedule::sends(i.kind);
      if (receives) note_end(meeting, party, found->second, ranks[party.rank], &transfer);
    }
    if (members.size() > 1 && transfer.bytes > 0 && crosses_(members)) all->push_back(std::move(transfer));
  }

  void note_end(std::size_t meeting, const Place& party, const Interval& whole, const RankEvents& rank,
                Transfer* transfer) const {
    if (!transfer->known) transfer->done = std::max(transfer->done, whole.end);
    const auto waiting = waiting_[party.rank].find(meeting);
    if (waiting == waiting_[party.rank].end()) return;
    const auto waits = rank.waits.find(key_of(plan_.program.ranks[party.rank][waiting->second]));
    if (waits == rank.waits.end()) return;
    const Interval* last = nullptr;
    for (const Interval& wait : waits->second) {
      if (wait.end <= whole.end + clock_reading) last = &wait;
    }
    if (last == nullptr || last->end - last->begin < shortest_wait || last->end < whole.begin) return;
    transfer->done = transfer->known ? std::max(transfer->done, last->end) : last->end;
    transfer->known = true;
  }

  const plan::Plan& plan_;
  const Crosses& crosses_;
  const Dependencies dependencies_;
  std::vector<std::map<std::size_t, std::size_t>> waiting_;  // by rank: meeting -> the instruction that waits for it
  std::map<std::pair<std::size_t, Key>, int> times_;
};

// Transfers that went one after the other over a way out, up to one whose end is known.
struct Sample {
  double bytes = 0, seconds = 0, latencies = 0;
};

// The way out of a rank: busy since `begin` with so much, of which no end is known.
struct Busy {
  double begin = 0, bytes = 0, latencies = 0;

  double until(const schedule::Link& link) const {
    return begin + bytes / link.bytes_per_second + latencies * link.latency_seconds;
  }
};

// An exchange keeps the ways out until it is done, a message until it has left.
void add_samples(const std::vector<Transfer>& transfers, const schedule::Link& link, std::vector<Sample>* samples) {
  std::map<int, Busy> ways;
  for (const Transfer& transfer : transfers) {
    Busy busy{transfer.ready, 0, 0};
    for (const int rank : transfer.senders) {
      if (ways[rank].until(link) > busy.until(link)) busy = ways[rank];
    }
    const bool exchange = transfer.senders.size() > 1;
    busy.bytes += transfer.bytes;
    busy.latencies += exchange ? 1 : 0;
    if (transfer.known && transfer.done > busy.begin) {
      samples->push_back({busy.bytes, transfer.done - busy.begin, busy.latencies + (exchange ? 0 : 1)});
      busy = {transfer.done - (exchange ? 0 : link.latency_seconds), 0, 0};
    }
    for (const int rank : transfer.senders) ways[rank] = busy;
  }
}

// No transfer took longer than from when all had come to its end.
schedule::Link slowest_link(const std::vector<std::vector<Transfer>>& steps, double latency_seconds) {
  std::vector<double> rates;
  for (const auto& step : steps) {
    for (const Transfer& transfer : step) {
      if (transfer.known && transfer.done > transfer.ready)
        rates.push_back(transfer.bytes / (transfer.done - transfer.ready));
    }
  }
  return {latency_seconds, rates.empty() ? std::numeric_limits<double>::infinity() : base::median(std::move(rates))};
}

schedule::Link with_latency(const std::vector<Sample>& samples, double latency_seconds) {
  std::vector<double> rates;
  for (const Sample& s : samples)
    rates.push_back(s.bytes / std::max(s.seconds - s.latencies * latency_seconds, 0.1 * s.seconds));
  return {latency_seconds, base::median(std::move(rates))};
}

// Both, from pairs of unlike sizes; without these, or where the larger ones did not take longer, no latency.
schedule::Link with_any_latency(std::vector<Sample> samples, double latency_so_far) {
  constexpr std::size_t most = 400;
  constexpr double unlike = 1.2;
  if (samples.size() > most) {
    std::vector<Sample> some;
    for (std::size_t k = 0; k < most; ++k) some.push_back(samples[k * samples.size() / most]);
    samples = std::move(some);
  }
  for (Sample& sample : samples) {
    sample.seconds -= (sample.latencies - 1) * latency_so_far;
    sample.latencies = 1;
  }
  std::vector<double> seconds_per_byte, rest;
  for (const Sample& a : samples) {
    for (const Sample& b : samples) {
      if (b.bytes > unlike * a.bytes) seconds_per_byte.push_back((b.seconds - a.seconds) / (b.bytes - a.bytes));
    }
  }
  const double per_byte = seconds_per_byte.empty() ? 0 : base::median(std::move(seconds_per_byte));
  for (const Sample& s : samples) rest.push_back(s.seconds - s.bytes * per_byte);
  const double latency_seconds = std::max(0.0, base::median(std::move(rest)));
  const auto is_longer = [&](const Sample& s) { return s.seconds < latency_seconds; };
  const bool believable = per_byte > 0 && std::none_of(samples.begin(), samples.end(), is_longer);
  return believable ? schedule::Link{latency_seconds, 1 / per_byte} : with_latency(samples, 0);
}

}  // namespace

std::optional<LinkFit> fit_link(const plan::Plan& plan, const std::vector<schedule::StepTrace>& steps,
                                const Crosses& crosses, std::optional<double> latency_seconds) {
  constexpr std::size_t fewest = 3;
  constexpr int rounds = 8;  // what waits for its turn depends on the link
  const Transfers transfers(plan, crosses);
  std::vector<std::vector<Transfer>> of_steps;
  for (const schedule::StepTrace& step : steps) of_steps.push_back(transfers.of(step));
  LinkFit best;
  best.link = slowest_link(of_steps, latency_seconds.value_or(0));
  for (int round = 0; round < rounds; ++round) {
    std::vector<Sample> samples;
    for (const auto& step : of_steps) add_samples(step, best.link, &samples);
    if (samples.size() < fewest) return std::nullopt;
    const auto link = latency_seconds ? with_latency(samples, *latency_seconds)
                                      : with_any_latency(samples, best.link.latency_seconds);
    best = {link, samples.size()};
  }
  return best;
}

}  // namespace troika::planner
