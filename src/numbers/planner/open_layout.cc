#include "planner/open_layout.h"

#include <optional>

#include "base/cause.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "config/config.h"
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

}  // namespace troika::planner
