// Memory that ran out, by the status of the first to die and the counters of its host.

#include <algorithm>

#include "base/say.h"
#include "diagnosis/rules.h"
#include "records/health.h"

namespace troika::diagnosis {
namespace {

constexpr int killed = 9;

const HostFacts* host_of_death(const Facts& f) {
  if (!f.death) return nullptr;
  const auto found = f.hosts.find(f.death->host);
  return found == f.hosts.end() ? nullptr : &found->second;
}

bool was_killed(const Facts& f) { return (f.death && f.death->signal == killed) || f.ending == Ending::vanished; }

// A launcher's count at the end of the rank is exact; samples serve for runs without one.
double kills_of(const Facts& f) {
  if (f.death && f.death->memory_kills >= 0) return f.death->memory_kills;
  double kills = 0;
  if (const HostFacts* host = host_of_death(f)) kills = std::max(kills, host->memory_kills);
  if (f.ending == Ending::vanished)
    for (const auto& [name, host] : f.hosts) kills = std::max(kills, host.memory_kills);
  return kills;
}

bool had_nothing_left(const Facts& f) {
  const auto is_empty = [](const HostFacts& host) {
    return records::is_short_of_memory(host.available_share, 1);
  };
  if (const HostFacts* host = host_of_death(f)) return is_empty(*host);
  return f.ending == Ending::vanished &&
         std::any_of(f.hosts.begin(), f.hosts.end(), [&](const auto& host) { return is_empty(host.second); });
}

// A card that gets no memory that stays in place says so in its log, and what follows looks like this.
const Told* refused_allocation(const Facts& f) {
  if (first_with(f.last_lines, {base::Cause::infiniband}) != nullptr) return nullptr;
  return told_or_logged(f, {base::Cause::out_of_memory, base::Cause::device_out_of_memory});
}

void add_memory(const Facts& f, std::vector<Evidence>* evidence) {
  if (f.death && f.death->signal != 0)
    evidence->push_back(say("rank {} on {} was killed by signal {}", f.death->rank, f.death->host, f.death->signal));
  if (const double kills = kills_of(f); kills > 0)
    evidence->push_back(say("the kernel's out-of-memory killer acted {} in the preceding half minute", base::counted_text(static_cast<std::int64_t>(kills), "time")));
  if (const HostFacts* host = host_of_death(f); host != nullptr && host->available_share >= 0)
    evidence->push_back(say("the last sample of {} shows {:.1f} % of the memory available", f.death->host, 100 * host->available_share));
  add_place(f, evidence);
}

std::optional<Finding> job_limit(const Facts& f) {
  const Told* line = told_or_logged(f, {base::Cause::job_memory_limit});
  if (line == nullptr) return std::nullopt;
  Finding found{"job_memory_limit", {quoted(*line)}, {}};
  add_memory(f, &found.evidence);
  found.advice = less_memory(f);
  found.advice.insert(found.advice.begin(), command("#SBATCH --mem=0", say("the job gets all memory of its nodes")));
  found.advice.resize(std::min<std::size_t>(found.advice.size(), 3));
  return found;
}

bool was_saving(const Facts& f) {
  if (f.unfinished_save >= 0) return true;
  return f.death && records::is_saving(f.death->at.activity);
}

std::optional<Finding> while_saving(const Facts& f) {
  const bool memory = was_killed(f) ? kills_of(f) > 0 || had_nothing_left(f) : refused_allocation(f) != nullptr;
  if (!memory || !was_saving(f)) return std::nullopt;
  Finding found{"out_of_memory_while_saving", {}, {}};
  add_memory(f, &found.evidence);
  if (f.unfinished_save >= 0) found.evidence.push_back(say("the checkpoint of step {} was being written and is not complete", f.unfinished_save));
  const config::Settings s = settings_or_usual(f);
  if (s.checkpoint.async != config::OnOff::off)
    found.advice.push_back(set("checkpoint.async", "off", say("the checkpoint is written without a copy in memory, and training waits for it")));
  for (const Advice& advice : less_memory(f))
    if (found.advice.size() < 3) found.advice.push_back(advice);
  return found;
}

std::optional<Finding> of_the_host(const Facts& f) {
  const Told* refused = refused_allocation(f);
  const bool by_kernel = was_killed(f) && (kills_of(f) > 0 || had_nothing_left(f));
  if (!by_kernel && refused == nullptr) return std::nullopt;
  Finding found{"host_out_of_memory", {}, less_memory(f)};
  if (refused != nullptr && refused->what.cause == base::Cause::device_out_of_memory)
    found.cause = "device_out_of_memory";
  if (!by_kernel) found.evidence.push_back(quoted(*refused));
  add_memory(f, &found.evidence);
  return found;
}

std::optional<Finding> refused_plan(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::plan_exceeds_memory});
  if (told == nullptr) return std::nullopt;
  const AdviceList named = flags_named_in(told->text);
  return Finding{"plan_exceeds_memory", {quoted(*told)}, named.empty() ? less_memory(f) : named};
}

}  // namespace

Rules rules_of_memory() { return {job_limit, while_saving, of_the_host, refused_plan}; }

}  // namespace troika::diagnosis
