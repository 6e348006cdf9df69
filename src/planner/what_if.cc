#include "planner/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "plan/advice.h"
#include "plan/instruction_units.h"
#include "planner/changed_plan.h"
#include "planner/learnt_speeds.h"
#include "planner/limit.h"
#include "planner/link_fit.h"
#include "planner/replay.h"
#include "schedule/trace/summary.h"

namespace troika::planner {
namespace {

std::string layout_of(const plan::Plan& plan) {
  const mesh::Shape& shape = plan.shape;
  std::string text = shape.world() == 1 ? "one rank" : plan::layout_name(shape.dp, shape.pp);
  if (shape.tp > 1) text += fmt::format(" x tp {}", shape.tp);
  if (shape.cp > 1) text += fmt::format(" x cp {}", shape.cp);
  if (plan.program.shards(1)) text += fmt::format(", zero {}", plan.program.zero);
  const auto& parallel = plan.settings().parallel;
  if (!parallel.schedule_file.empty()) {
    text += ", a schedule file";
  } else if (shape.pp > 1) {
    text += ", " + config::word_of(parallel.schedule);
  }
  const config::Batch& batch = plan.resolved.batch;
  return text + fmt::format(", {} microbatches of {} x {} tokens", batch.microbatches, batch.micro, batch.seq_len);
}

StepShares shares_of(const schedule::StepTrace& trace) {
  const schedule::StepSummary summary = schedule::summarize(trace);
  const double ranks = static_cast<double>(summary.ranks.size());
  return {summary.step_seconds, summary.total.compute_seconds / ranks, summary.total.communication_seconds / ranks,
          summary.total.bubble_seconds / ranks};
}

std::size_t median_of(const std::vector<StepShares>& steps) {
  std::vector<std::size_t> order(steps.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return steps[a].step_seconds < steps[b].step_seconds; });
  return order[(order.size() - 1) / 2];
}

std::vector<double> factors_of(const Recording& recording, const Changes& changes, const std::vector<int>& hosts) {
  std::vector<double> factors(static_cast<std::size_t>(*std::max_element(hosts.begin(), hosts.end())) + 1, 1);
  for (const HostChange& change : changes.hosts) {
    std::int64_t number = -1;
    const auto named = std::find(recording.hosts.begin(), recording.hosts.end(), change.host);
    if (named != recording.hosts.end()) {
      number = named - recording.hosts.begin();
    } else if (!base::parse_int(change.host, &number) || number < 0 ||
               number >= static_cast<std::int64_t>(recording.hosts.size())) {
      std::vector<std::string> there;
      for (std::size_t host = 0; host < recording.hosts.size(); ++host)
        there.push_back(fmt::format("{} ({})", host, recording.hosts[host]));
      throw base::ConfigError(
          fmt::format("--what-if: there is no host {}; the run had {}", change.host, base::join(there, ", ")));
    }
    const auto at = static_cast<std::size_t>(number);
    if (at >= factors.size())
      throw base::ConfigError(fmt::format("--what-if: host {} is changed and taken away", change.host));
    factors[at] *= change.factor;
  }
  return factors;
}

// Everything about a recording that a question needs.
class Answering {
 public:
  Answering(const Recording& recording, const Changes& changes)
      : recording_(recording), changes_(changes), changed_{recording.plan, recording.host_of_rank, {}} {
    if (changes.of_program()) changed_ = changed_plan(recording, changes);
    learn_links();
    for (const schedule::StepTrace& step : recording.steps) seconds_.emplace_back(recording.plan, step);
    if (changes.of_program()) {
      for (const RecordedSeconds& seconds : seconds_) speeds_.emplace_back(recording.plan, seconds);
      costs_ = plan::segment_costs(changed_.plan);
    }
    host_factors_ = factors_of(recording, changes, changed_.host_of_rank);
  }

  WhatIf answer() {
    WhatIf answer;
    answer.layout = layout_of(recording_.plan);
    answer.changed_layout = layout_of(changed_.plan);
    answer.tokens = recording_.plan.resolved.batch.tokens_per_step();
    answer.changed_tokens = changed_.plan.resolved.batch.tokens_per_step();
    answer.notes = recording_.notes;
    answer.notes.insert(answer.notes.end(), changed_.notes.begin(), changed_.notes.end());
    replay_all(&answer);
    tell_links(&answer);
    return answer;
  }

 private:
  bool one_host() const { return recording_.hosts.size() == 1; }

  void learn_links() {
    recorded_ = recording_.steps.back().link;
    const auto& hosts = recording_.host_of_rank;
    const double latency = recorded_ ? recorded_->latency_seconds : 0;
    const auto between = [&](const std::vector<int>& ranks) { return one_host() || cross_hosts(hosts, ranks); };
    const auto inside = [&](const std::vector<int>& ranks) { return !between(ranks); };
    fitted_ = fit_link(recording_.plan, recording_.steps, between, latency);
    if (const auto fit = fit_link(recording_.plan, recording_.steps, inside, 0)) inside_ = fit->link;
    const bool named = changes_.link.bytes_per_second.has_value();
    const bool crosses = changed_.plan.program.ranks.size() > 1;
    if (crosses && !recorded_ && !fitted_ && !named) {
      throw base::ConfigError(
          "--what-if: the run tells of no link between its ranks; say what it carries, such as link 100Mbit/s");
    }
  }

  // What the run measured before its steps, else what its transfers say.
  schedule::Link link() const {
    return recorded_ ? *recorded_ : fitted_ ? fitted_->link : schedule::Link{0, infinite_};
  }

  Replay unchanged(std::size_t step, const schedule::Link& link) const {
    Replay replay;
    replay.plan = &recording_.plan;
    replay.host_of_rank = recording_.host_of_rank;
    replay.taken = [this, step](int rank, const schedule::Instruction& i) { return seconds_[step].of(rank, i); };
    replay.links = {link, inside_};
    replay.host_factors.assign(recording_.hosts.size(), 1);
    return replay;
  }

  Replay with_change(std::size_t step, const schedule::Link& link) const {
    Replay replay = unchanged(step, changes_.link.of(link));
    if (one_host()) replay.inside_factor = link.bytes_per_second / replay.links.between.bytes_per_second;
    if (!std::isfinite(replay.inside_factor)) replay.inside_factor = 1;
    replay.plan = &changed_.plan;
    replay.host_of_rank = changed_.host_of_rank;
    replay.host_factors = host_factors_;
    if (changes_.of_program()) {
      replay.taken = [this, step](int rank, const schedule::Instruction& i) {
        return speeds_[step].of(changed_.plan, costs_, rank, i);
      };
    }
    return replay;
  }

  void replay_all(WhatIf* answer) const {
    std::vector<StepShares> measured, replayed, changed;
    std::vector<double> possible;
    for (std::size_t step = 0; step < recording_.steps.size(); ++step) {
      answer->steps.push_back(recording_.steps[step].step);
      measured.push_back(shares_of(recording_.steps[step]));
      replayed.push_back(shares_of(simulate(unchanged(step, link()))));
      changed.push_back(shares_of(simulate(with_change(step, link()))));
      add_possible(measured[step].step_seconds, replayed[step].step_seconds, changed[step].step_seconds, &possible);
      if (recorded_ && fitted_) {
        add_possible(measured[step].step_seconds, shares_of(simulate(unchanged(step, fitted_->link))).step_seconds,
                     shares_of(simulate(with_change(step, fitted_->link))).step_seconds, &possible);
      }
    }
    answer->measured = measured[median_of(measured)];
    answer->replayed = replayed[median_of(replayed)];
    const std::size_t median = median_of(changed);
    answer->changed = changed[median];
    answer->lowest_seconds = *std::min_element(possible.begin(), possible.end());
    answer->highest_seconds = *std::max_element(possible.begin(), possible.end());
    answer->limit = limit_of(with_change(median, link()), recording_.hosts);
    if (recording_.steps.size() == 1)
      answer->notes.push_back("of one step: record several, such as --profile 3,4,5,6, for error bars that hold");
  }

  static void add_possible(double measured, double replayed, double changed, std::vector<double>* possible) {
    possible->push_back(changed);
    if (replayed <= 0) return;
    possible->push_back(changed * measured / replayed);
    possible->push_back(std::max(changed + measured - replayed, 0.0));
  }

  void tell_links(WhatIf* answer) const {
    constexpr double unlike = 1.5;
    if (changed_.plan.program.ranks.size() > 1) answer->changed_link = changes_.link.of(link());
    if (fitted_) answer->fitted = fitted_->link;
    if (!recorded_ && !fitted_) return;
    answer->link = link();
    answer->link_from = recorded_ ? WhatIf::LinkFrom::run : WhatIf::LinkFrom::transfers;
    if (!recorded_ || !fitted_) return;
    const double ratio = recorded_->bytes_per_second / fitted_->link.bytes_per_second;
    if (ratio < unlike && ratio > 1 / unlike) return;
    answer->notes.push_back(fmt::format(
        "the transfers of these steps went at {}, not at the {} that the run measured before them; the range "
        "has both",
        plan::format_link(fitted_->link), plan::format_link(*recorded_)));
  }

  static constexpr double infinite_ = std::numeric_limits<double>::infinity();
  const Recording& recording_;
  const Changes& changes_;
  ChangedPlan changed_;
  std::optional<schedule::Link> recorded_;
  std::optional<LinkFit> fitted_;
  schedule::Link inside_;
  std::vector<RecordedSeconds> seconds_;  // of each step
  std::vector<LearntSpeeds> speeds_;      // the same, where the program changes
  std::vector<double> costs_;
  std::vector<double> host_factors_;
};

}  // namespace

WhatIf what_if(const std::string& run, const Recording& recording, const Changes& changes) {
  WhatIf answer = Answering(recording, changes).answer();
  answer.run = run;
  return answer;
}

WhatIf what_if(const std::string& run, const std::vector<std::string>& words) {
  const Changes changes = parse_changes(words);
  WhatIf answer = what_if(run, read_recording(run), changes);
  answer.changes = base::join(words, " ");
  return answer;
}

}  // namespace troika::planner
