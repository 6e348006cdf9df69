#include "planner/open_layout.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "base/cause.h"
#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "config/batch.h"
#include "config/config.h"
#include "plan/memory_check.h"
#include "planner/machines.h"
#include "planner/reasons.h"

namespace troika::planner {
namespace {

void refuse_settings_of_a_layout(const config::Settings& settings) {
  const config::ParallelSettings& p = settings.parallel;
  const std::pair<bool, const char*> wrong[] = {
      {!p.stage_layers.empty(), "parallel.stage_layers"},
      {!p.stage_costs.empty(), "parallel.stage_costs"},
      {!p.shares.empty(), "parallel.shares"},
      {!p.schedule_file.empty(), "parallel.schedule_file"},
      {p.stage_balance == config::StageBalance::measured, "parallel.stage_balance measured"},
      {settings.batch.find_micro_batch_size, "batch.find_micro_batch_size"}};
  for (const auto& [is_set, name] : wrong) {
    if (is_set) throw base::ConfigError(base::say("{} is for one layout, but parallel.layout auto chooses one: leave one of the two out", name));
  }
}

}  // namespace

Fixed kept_by_choice(const std::vector<std::string>& stated, const config::Settings& settings) {
  Fixed fixed = fixed_by(stated, settings);
  fixed.precision = settings.precision.compute;
  fixed.micro = settings.batch.micro_batch_size;
  return fixed;
}

config::Resolved resolve_somehow(const config::Settings& settings, const Fixed& fixed, std::int64_t world) {
  config::Settings tried = settings;
  config::ParallelSettings& p = tried.parallel;
  p.layout = config::LayoutChoice::stated;
  base::Text refusal;
  const auto try_it = [&]() -> std::optional<config::Resolved> {
    try {
      return config::resolve(tried, world);
    } catch (const base::ConfigError& error) {
      if (refusal.english.empty()) refusal = base::text_of(error);
      return std::nullopt;
    }
  };
  if (auto own = try_it()) return *own;
  if (!fixed.virtual_stages && !fixed.schedule) {
    p.virtual_stages = 1;
    p.schedule = config::ParallelSettings{}.schedule;
  }
  for (std::int64_t tp = 1; tp <= world; ++tp) {
    if (world % tp != 0 || tp != fixed.tp.value_or(static_cast<int>(tp))) continue;
    for (std::int64_t pp = 1; pp <= world / tp; ++pp) {
      if (world / tp % pp != 0 || pp != fixed.pp.value_or(static_cast<int>(pp))) continue;
      p.dp = fixed.dp.value_or(0);
      p.pp = pp;
      p.tp = tp;
      p.cp = fixed.cp.value_or(1);
      if (auto found = try_it()) return *found;
    }
  }
  throw base::ConfigError(refusal);
}

config::Resolved resolve_open(const config::Settings& settings, const Fixed& fixed, std::int64_t world) {
  refuse_settings_of_a_layout(settings);
  return resolve_somehow(settings, fixed, world);
}

Question open_question(const config::Resolved& open, const Fixed& fixed, const RunMachines& machines) {
  Question q;
  q.settings = open.settings;
  q.fixed = fixed;
  q.global = open.batch.global;
  q.cluster = machines.cluster;
  q.world = static_cast<int>(open.settings.parallel.world());
  q.ranks_per_host = machines.ranks_per_host;
  q.top = 1;
  return q;
}

Choice choose(const Question& question) {
  const Answer answer = search(question);
  if (answer.best.empty()) throw base::ConfigError(nothing_fits(question, answer), base::Cause::plan_exceeds_memory);
  const Estimate& best = answer.best.front();
  Choice choice{best.layout, {}};
  choice.reasons.push_back(base::say("layout  {}: {:.0f} positions/s predicted, the fastest of {} layouts on {}", text_of(best.layout),
                                     best.tokens_per_second(), answer.considered, describe(question)));
  for (const base::Text& reason : reasons_of(question, best)) choice.reasons.push_back(base::say("        {}", reason));
  constexpr int few = 64;  // ranks, among which searching again takes a moment
  if (question.world > few) return choice;
  for (const Estimate& other : fastest_of_each_depth(question)) {
    if (other.layout.pp != best.layout.pp)
      choice.reasons.push_back(
          base::say("        next: {}, {:.0f} positions/s", text_of(other.layout), other.tokens_per_second()));
  }
  return choice;
}

std::string to_text(const Layout& layout) { return base::join(flags_of(layout), " "); }

Layout parse_layout(const std::string& text) {
  return layout_of(config::parse_settings(base::split(text, ' '), {}).settings);
}

config::Resolved with_choice(const config::Settings& settings, const Layout& layout, std::int64_t world) {
  return config::resolve(with_layout(settings, layout), world);
}

namespace {

bool cuts_by_measured_seconds(const config::Resolved& resolved) {
  return resolved.settings.parallel.stage_balance == config::StageBalance::measured && resolved.settings.parallel.pp > 1;
}

// With the smallest batch that the ranks may choose from.
config::Resolved with_smallest_batch(const config::Resolved& resolved) {
  if (resolved.batch_candidates.empty()) return resolved;
  return config::with_batch(resolved, resolved.batch_candidates.front());
}

// Every host like this one. Which of the layouts that fit is fastest follows well enough from the rates of a profile.
RunMachines machines_like(const HostRanks& ranks) {
  RunMachines machines;
  machines.cluster = this_machine("").cluster;
  machine::Host& host = machines.cluster.hosts.front();
  host.count = ranks.hosts;
  host.memory_bytes = ranks.available_bytes;
  machines.cluster.network = {0.2e-3, 125e6};
  machines.ranks_per_host = ranks.count;
  return machines;
}

plan::DataFacts data_not_open(std::optional<std::int64_t> vocabulary, SampleLength length) {
  plan::DataFacts data;
  data.vocab = vocabulary.value_or(0);
  data.samples = std::numeric_limits<std::int32_t>::max();  // not known; memory does not depend on it
  if (length == SampleLength::full) return data;
  data.sizes = [](config::Batch batch, int cp, std::int64_t) {
    batch.seq_len = std::min<std::int64_t>(batch.seq_len, 2 * cp);  // a row of each rank's chunks
    return plan::full_sizes(batch, cp);
  };
  return data;
}

void refuse(const plan::Plan& plan, int grid_rank, const plan::Room& room, const HostRanks& ranks) {
  Question question;
  question.settings = plan.settings();
  know_data(&question, plan.data);
  const RunMachines machines = machines_like(ranks);
  question.cluster = machines.cluster;
  question.ranks_per_host = ranks.count;
  question.world = plan.shape.world();
  const Layout asked = layout_of(plan.settings());
  const auto nearest = nearest_that_fits(std::move(question), asked);
  if (!nearest) return plan::check_memory(plan, grid_rank, room);
  throw base::ConfigError(base::say("{}; the nearest layout that fits is {} ({} a rank)", plan::describe_lack(plan, grid_rank, room),
                                    flags_to(nearest->layout, asked), base::format_bytes(nearest->memory.total())),
                          base::Cause::plan_exceeds_memory);
}

}  // namespace

void check_before_start(const config::Resolved& resolved, const HostRanks& ranks, std::optional<std::int64_t> vocabulary,
                        SampleLength length) {
  if (!vocabulary || cuts_by_measured_seconds(resolved)) return;
  const plan::Plan plan = plan::make_plan(with_smallest_batch(resolved), data_not_open(vocabulary, length));
  for (int rank = ranks.first_rank; rank < ranks.first_rank + ranks.count; ++rank) {
    const int grid_rank = mesh::grid_rank_of(plan.shape, rank);
    const plan::Room room{plan::Room::Where::host, ranks.available_bytes, ranks.count};
    if (!plan::fits(plan, grid_rank, room)) refuse(plan, grid_rank, room, ranks);
  }
}

void check_before_choice(const config::Resolved& open, const Fixed& fixed, const HostRanks& ranks,
                         std::optional<std::int64_t> vocabulary, SampleLength length) {
  if (!vocabulary) return;
  Question question = open_question(open, fixed, machines_like(ranks));
  know_data(&question, data_not_open(vocabulary, length));
  question.settings.model.vocab = *vocabulary;
  question.top = 1;
  if (leanest_that_fits(question)) return;
  if (const Answer answer = search(question); answer.best.empty())
    throw base::ConfigError(nothing_fits(question, answer), base::Cause::plan_exceeds_memory);
}

namespace {

Fixed all_of(const Layout& l) {
  return {l.dp,    l.pp,       l.tp,        l.cp,      l.zero,     l.virtual_stages,
          l.micro, l.schedule, l.recompute, l.offload, l.precision};
}

}  // namespace

std::optional<Estimate> nearest_that_fits(Question q, const Layout& asked) {
  q.global = asked.global;
  const std::function<void(Fixed&)> loosen[] = {
      [](Fixed& f) { f.micro.reset(); },
      [](Fixed& f) { f.recompute.reset(); },
      [](Fixed& f) { f.zero.reset(); },
      [](Fixed& f) { f.dp.reset(), f.pp.reset(), f.schedule.reset(), f.virtual_stages.reset(); },
  };
  for (const auto& one : loosen) {
    q.fixed = all_of(asked);
    one(q.fixed);
    if (auto found = fastest_that_fits(q)) return found;
  }
  q.fixed = all_of(asked);
  for (const auto& another : loosen) {
    another(q.fixed);
    if (auto found = fastest_that_fits(q)) return found;
  }
  return std::nullopt;
}

std::string flags_to(const Layout& other, const Layout& from) {
  const std::vector<std::string> to = flags_of(other), now = flags_of(from);
  std::vector<std::string> words;
  for (std::size_t i = 0; i + 1 < to.size(); i += 2) {
    if (to[i + 1] != now[i + 1]) words.push_back(to[i] + " " + to[i + 1]);
  }
  return base::join(words, " ");
}

}  // namespace troika::planner
