#include "planner/link_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

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

struct Sample {
  double bytes = 0, seconds = 0;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What each transfer took once it was its turn, with `link` for those whose end is not known.
void add_samples(const std::vector<Transfer>& transfers, const schedule::Link& link, std::vector<Sample>* samples) {
  std::map<int, double> free;  // way out of a rank
  for (const Transfer& transfer : transfers) {
    double begin = transfer.ready;
    for (const int rank : transfer.senders) begin = std::max(begin, free[rank]);
    const double reckoned = begin + transfer.bytes / link.bytes_per_second;
    const bool known = transfer.known && transfer.done > begin;
    if (known) samples->push_back({transfer.bytes, transfer.done - begin});
    const double end =
        known ? transfer.done - link.latency_seconds : std::min(reckoned, std::max(begin, transfer.done));
    for (const int rank : transfer.senders) free[rank] = std::max(free[rank], end);
  }
}

schedule::Link fit(std::vector<Sample> samples, double latency_seconds) {
  constexpr std::size_t most = 400;
  constexpr double unlike = 1.2;
  if (samples.size() > most) {
    std::vector<Sample> some;
    for (std::size_t k = 0; k < most; ++k) some.push_back(samples[k * samples.size() / most]);
    samples = std::move(some);
  }
  std::vector<double> seconds_per_byte;
  for (const Sample& a : samples) {
    for (const Sample& b : samples) {
      if (b.bytes > unlike * a.bytes) seconds_per_byte.push_back((b.seconds - a.seconds) / (b.bytes - a.bytes));
    }
  }
  const bool one_size = seconds_per_byte.empty();
  if (one_size) {
    for (const Sample& s : samples) seconds_per_byte.push_back((s.seconds - latency_seconds) / s.bytes);
  }
  constexpr double fastest = 1e-12;
  const double per_byte = std::max(median(std::move(seconds_per_byte)), fastest);
  std::vector<double> rest;
  for (const Sample& s : samples) rest.push_back(s.seconds - s.bytes * per_byte);
  return {one_size ? latency_seconds : std::max(0.0, median(std::move(rest))), 1 / per_byte};
}

}  // namespace

std::optional<LinkFit> fit_link(const plan::Plan& plan, const std::vector<schedule::StepTrace>& steps,
                                const Crosses& crosses, double latency_seconds) {
  constexpr std::size_t fewest = 3;
  constexpr int rounds = 5;  // whose turn it is depends on the link
  const Transfers transfers(plan, crosses);
  std::vector<std::vector<Transfer>> of_steps;
  for (const schedule::StepTrace& step : steps) of_steps.push_back(transfers.of(step));
  LinkFit best;
  best.link.latency_seconds = latency_seconds;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Sample> samples;
    for (const auto& step : of_steps) add_samples(step, best.link, &samples);
    if (samples.size() < fewest) return std::nullopt;
    best = {fit(samples, latency_seconds), samples.size()};
  }
  return best;
}

}  // namespace troika::planner
