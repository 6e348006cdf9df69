#include "diagnosis/facts.h"

#include <algorithm>
#include <numeric>

#include "base/units.h"

namespace troika::diagnosis {

using host::Vitals;
using records::Sample;

namespace {

using Seen = std::vector<const Sample*>;  // with vitals, of one host, in order

constexpr double shortly_before_seconds = 30;

double grown(const Seen& seen, double Vitals::*counter) {
  double first = -1, last = -1;
  for (const Sample* sample : seen) {
    const double now = (*sample->vitals).*counter;
    if (now < 0) continue;
    if (first < 0) first = now;
    last = now;
  }
  return std::max(last - first, 0.0);
}

// The part of `seen` from the last sample that is `seconds` older than the newest.
Seen last_of(const Seen& seen, double seconds) {
  const auto first = std::find_if(seen.rbegin(), seen.rend(),
                                  [&](const Sample* sample) { return sample->time <= seen.back()->time - seconds; });
  return first == seen.rend() ? seen : Seen(first.base() - 1, seen.end());
}

// The median over a part of the samples, from `begin` to `end` as shares of their number; -1: none is known.
double median_in(const Seen& seen, double Vitals::*number, double begin, double end) {
  std::vector<double> known;
  const auto count = static_cast<double>(seen.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto at = static_cast<double>(i);
    const double value = (*seen[i]->vitals).*number;
    if (value >= 0 && at >= begin * count && at < end * count) known.push_back(value);
  }
  return base::median_or(known, -1);
}

HostFacts facts_of_host(const Seen& seen) {
  HostFacts facts;
  facts.seconds = seen.back()->elapsed_seconds - seen.front()->elapsed_seconds;
  facts.memory_kills = grown(last_of(seen, shortly_before_seconds), &Vitals::memory_kills);
  facts.swap_in_pages = grown(seen, &Vitals::swap_in_pages);
  facts.throttles = grown(seen, &Vitals::throttles);
  facts.quota_throttled_seconds = grown(seen, &Vitals::quota_throttled_seconds);
  facts.clock_before = median_in(seen, &Vitals::clock_hertz, 0, 0.25);
  facts.clock_after = median_in(seen, &Vitals::clock_hertz, 0.75, 1);
  facts.runnable = median_in(seen, &Vitals::runnable, 0, 1);
  facts.memory_pressure = median_in(seen, &Vitals::pressure_memory, 0.75, 1);
  for (const Sample* sample : seen) {
    facts.temperature_celsius = std::max(facts.temperature_celsius, sample->vitals->temperature_celsius);
    facts.under_voltage = facts.under_voltage || sample->vitals->under_voltage > 0;
  }
  const Vitals& last = *seen.back()->vitals;
  facts.cores = last.cores;
  facts.disk_free_bytes = last.disk_free_bytes;
  if (last.memory_bytes > 0 && last.available_bytes >= 0)
    facts.available_share = last.available_bytes / last.memory_bytes;
  return facts;
}

double sum_of(const std::map<std::string, double>& seconds) {
  double sum = 0;
  for (const auto& [name, value] : seconds) sum += value;
  return sum;
}

double phase(const Sample& sample, const char* name) {
  const auto found = sample.phases.find(name);
  return found == sample.phases.end() ? 0 : found->second;
}

RankFacts facts_of_rank(const std::deque<Sample>& samples) {
  RankFacts facts;
  facts.host = samples.back().host;
  const auto first =
      std::find_if(samples.begin(), samples.end(), [](const Sample& sample) { return sample.place.step >= 1; });
  if (first == samples.end()) return facts;
  const Sample& last = samples.back();
  const auto phase_grown = [&](const char* name) { return std::max(phase(last, name) - phase(*first, name), 0.0); };
  facts.samples = static_cast<int>(samples.end() - first);
  facts.seconds = last.elapsed_seconds - first->elapsed_seconds;
  facts.computing = phase_grown("forward") + phase_grown("backward");
  facts.loading = phase_grown("load");
  facts.saving = phase_grown("save");
  facts.waiting = std::max(sum_of(last.waits) - sum_of(first->waits), 0.0);
  facts.steps = last.place.step - first->place.step;
  return facts;
}

std::vector<double> step_seconds(const Facts& f) {
  std::vector<double> seconds;
  for (const metrics::StepMetrics& row : f.rows)
    if (row.step > f.first_step + 1) seconds.push_back(row.step_seconds);  // the first one finds nothing warm
  return seconds;
}

}  // namespace

SamplesOfRanks of_last_attempt(const SamplesOfRanks& all, double began) {
  constexpr double clocks_seconds = 60;
  SamplesOfRanks last;
  for (const auto& [rank, samples] : all) {
    const auto first =
        std::find_if(samples.rbegin(), samples.rend(), [](const Sample& sample) { return sample.number <= 1; });
    const auto begin = first == samples.rend() ? samples.begin() : first.base() - 1;
    if (begin == samples.end() || begin->time < began - clocks_seconds) continue;
    last[rank] = {begin, samples.end()};
  }
  return last;
}

std::map<std::string, HostFacts> host_facts(const SamplesOfRanks& samples) {
  std::map<std::string, Seen> seen;
  for (const auto& [rank, of_rank] : samples) {
    const bool another_tells = !of_rank.empty() && seen.count(of_rank.front().host) > 0;
    for (const Sample& sample : of_rank)
      if (sample.vitals && !another_tells) seen[sample.host].push_back(&sample);
  }
  std::map<std::string, HostFacts> facts;
  for (const auto& [host, of_host] : seen) facts[host] = facts_of_host(of_host);
  return facts;
}

std::map<int, Standing> standings(const SamplesOfRanks& samples) {
  std::map<int, Standing> all;
  for (const auto& [rank, of_rank] : samples)
    if (!of_rank.empty()) all[rank] = {of_rank.back().host, of_rank.back().place, of_rank.back().elapsed_seconds};
  return all;
}

std::map<int, RankFacts> rank_facts(const SamplesOfRanks& samples) {
  std::map<int, RankFacts> facts;
  for (const auto& [rank, of_rank] : samples)
    if (!of_rank.empty()) facts[rank] = facts_of_rank(of_rank);
  return facts;
}

double slowdown(const Facts& facts, std::size_t least) {
  const std::vector<double> seconds = step_seconds(facts);
  if (seconds.size() < least) return 0;
  const auto quarter = static_cast<std::ptrdiff_t>(seconds.size() / 4);
  const double before = base::median_or({seconds.begin(), seconds.begin() + quarter}, 0),
               after = base::median_or({seconds.end() - quarter, seconds.end()}, 0);
  return before > 0 ? after / before : 0;
}

bool is_long_enough(const Facts& facts) {
  constexpr std::size_t least_steps = 20;
  constexpr double least_seconds = 10;
  const std::vector<double> seconds = step_seconds(facts);
  if (seconds.size() + 1 < least_steps || std::accumulate(seconds.begin(), seconds.end(), 0.0) < least_seconds)
    return false;
  return !facts.of_ranks.empty() && std::all_of(facts.of_ranks.begin(), facts.of_ranks.end(), [](const auto& rank) {
    return rank.second.samples > 2 && rank.second.seconds > 0;
  });
}

double share(double seconds, const RankFacts& rank) { return rank.seconds > 0 ? seconds / rank.seconds : 0; }

}  // namespace troika::diagnosis
