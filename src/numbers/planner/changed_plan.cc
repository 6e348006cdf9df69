#include "planner/changed_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "planner/refusal_texts.h"

namespace troika::planner {
namespace {

int ranks_on_hosts(const Recording& recording, int more_hosts) {
  const int hosts = static_cast<int>(recording.hosts.size());
  if (hosts + more_hosts < 1) {
    throw base::ConfigError(hosts == 1 ? base::say(refusal_texts.last_host)
                                       : base::say(refusal_texts.no_host_left, hosts, -more_hosts, hosts - 1));
  }
  const int each = recording.ranks_on(0);
  int gone = 0;
  for (int host = hosts + std::min(more_hosts, 0); host < hosts; ++host) gone += recording.ranks_on(host);
  return static_cast<int>(recording.host_of_rank.size()) + std::max(more_hosts, 0) * each - gone;
}

// dp and pp for so many grid ranks.
void set_axes(const plan::Plan& plan, int ranks, config::ParallelSettings* parallel) {
  const bool pipeline_alone = plan.shape.pp > 1 && plan.shape.dp == 1;
  if (pipeline_alone) {
    parallel->pp = ranks;
    parallel->dp = 1;
  } else if (ranks % plan.shape.pp == 0) {
    parallel->dp = ranks / plan.shape.pp;
  } else {
    throw base::ConfigError(base::say(refusal_texts.no_multiple_of_pp, ranks, plan.shape.pp, plan.shape.pp));
  }
}

std::int64_t stages_of(const config::ParallelSettings& parallel) { return parallel.pp * parallel.virtual_stages; }

void set_schedule(config::Schedule schedule, config::ParallelSettings* parallel) {
  if (schedule == parallel->schedule) return;
  parallel->schedule = schedule;
  parallel->virtual_stages = 1;  // interleaved: resolve() gives it two
}

config::BatchSettings batch_of(const plan::Plan& plan, const Changes& changes, std::int64_t dp) {
  const config::Batch& old = plan.resolved.batch;
  config::BatchSettings batch;
  batch.seq_len = old.seq_len;
  batch.micro_batch_size = changes.micro.value_or(old.micro);
  const double share = static_cast<double>(old.microbatches) / static_cast<double>(dp);
  const std::int64_t per_rank = std::max<std::int64_t>(1, std::llround(share));
  batch.global_batch_size = per_rank * dp * old.micro;
  return batch;
}

config::Settings changed_settings(const Recording& recording, const Changes& changes, int ranks) {
  const plan::Plan& plan = recording.plan;
  config::Settings settings = plan.resolved.settings;
  config::ParallelSettings& parallel = settings.parallel;
  const std::int64_t stages = stages_of(parallel);
  parallel.schedule_file.clear();
  set_axes(plan, ranks, &parallel);
  if (changes.schedule) set_schedule(*changes.schedule, &parallel);
  if (stages_of(parallel) != stages || parallel.schedule == config::Schedule::interleaved)
    parallel.stage_layers.clear();
  if (parallel.dp != plan.shape.dp || changes.micro) parallel.shares.clear();
  if (parallel.dp != plan.shape.dp || changes.micro) settings.batch = batch_of(plan, changes, parallel.dp);
  settings.train.steps = plan.steps;
  return settings;
}

std::vector<int> hosts_of(const Recording& recording, std::size_t ranks) {
  std::vector<int> hosts = recording.host_of_rank;
  const int each = recording.ranks_on(0);
  for (int next = 0; hosts.size() < ranks; ++next)
    hosts.push_back(static_cast<int>(recording.hosts.size()) + next / each);
  hosts.resize(ranks);
  return hosts;
}

// By its name or its number.
std::size_t find_host(const Recording& recording, const std::string& host) {
  const auto named = std::find(recording.hosts.begin(), recording.hosts.end(), host);
  if (named != recording.hosts.end()) return static_cast<std::size_t>(named - recording.hosts.begin());
  const auto hosts = static_cast<std::int64_t>(recording.hosts.size());
  std::int64_t number = -1;
  if (base::parse_int(host, &number) && number >= 0 && number < hosts) return static_cast<std::size_t>(number);
  std::vector<std::string> there;
  for (const std::string& name : recording.hosts) there.push_back(fmt::format("{} ({})", there.size(), name));
  throw base::ConfigError(base::say(refusal_texts.no_such_host, host, base::join(there, ", ")));
}

std::vector<double> host_factors_of(const Recording& recording, const Changes& changes, const std::vector<int>& hosts) {
  std::vector<double> factors(static_cast<std::size_t>(*std::max_element(hosts.begin(), hosts.end())) + 1, 1);
  for (const HostChange& change : changes.hosts) {
    const std::size_t host = find_host(recording, change.host);
    if (host >= factors.size()) throw base::ConfigError(base::say(refusal_texts.changed_and_gone, change.host));
    factors[host] *= change.factor;
  }
  return factors;
}

void set_plan(const Recording& recording, const Changes& changes, ChangedPlan* changed) {
  const plan::Plan& old = recording.plan;
  const int ranks = ranks_on_hosts(recording, changes.more_hosts);
  try {
    const config::Settings settings = changed_settings(recording, changes, ranks);
    const std::int64_t world = static_cast<std::int64_t>(ranks) * old.shape.tp * old.shape.cp;
    changed->plan = plan::make_plan(config::resolve(settings, world), old.data);
  } catch (base::Error& error) {
    error.add_context("with the change that --what-if asks for");
    throw;
  }
  changed->host_of_rank = hosts_of(recording, changed->plan.program.ranks.size());
  const std::int64_t before = old.resolved.batch.global, after = changed->plan.resolved.batch.global;
  if (before != after) changed->notes.push_back(base::say(refusal_texts.other_batch, after, before));
}

}  // namespace

ChangedPlan changed_plan(const Recording& recording, const Changes& changes) {
  const plan::Plan& old = recording.plan;
  ChangedPlan changed{old, recording.host_of_rank, {}, {}};
  if (changes.of_program()) set_plan(recording, changes, &changed);
  changed.host_factors = host_factors_of(recording, changes, changed.host_of_rank);
  return changed;
}

}  // namespace troika::planner
