#include "planner/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "plan/instruction_units.h"
#include "planner/changed_plan.h"
#include "planner/learnt_speeds.h"
#include "planner/limit.h"
#include "planner/link_fit.h"
#include "planner/refusal_texts.h"
#include "planner/replay.h"
#include "planner/what_if_texts.h"
#include "schedule/trace/summary.h"

namespace troika::planner {
namespace {

base::Text layout_of(const plan::Plan& plan) {
  const mesh::Shape& shape = plan.shape;
  std::vector<std::string> axes;
  for (const auto& [name, extent] : {std::pair("dp", shape.dp), {"pp", shape.pp}, {"tp", shape.tp}, {"cp", shape.cp}}) {
    if (extent > 1) axes.push_back(fmt::format("{} {}", name, extent));
  }
  std::vector<base::Text> parts{axes.empty() ? base::say(what_if_texts.one_rank)
                                             : base::verbatim(base::join(axes, " x "))};
  if (plan.program.shards(1)) parts.push_back(base::verbatim(fmt::format(", zero {}", plan.program.zero)));
  const auto& parallel = plan.settings().parallel;
  if (!parallel.schedule_file.empty()) {
    parts.push_back(base::say(what_if_texts.schedule_file));
  } else if (shape.pp > 1) {
    parts.push_back(base::verbatim(", " + config::word_of(parallel.schedule)));
  }
  const config::Batch& batch = plan.resolved.batch;
  return base::say(what_if_texts.microbatches, base::join(parts, {"", ""}), batch.microbatches, batch.micro,
                   batch.seq_len);
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

// Everything about a recording that a question needs.
class Answering {
 public:
  Answering(const Recording& recording, const Changes& changes)
      : recording_(recording), changes_(changes), changed_(changed_plan(recording, changes)) {
    learn_links();
    for (const schedule::StepTrace& step : recording.steps) seconds_.emplace_back(recording.plan, step);
    if (changes.of_program()) {
      for (const RecordedSeconds& seconds : seconds_) speeds_.emplace_back(recording.plan, seconds);
      costs_ = plan::segment_costs(changed_.plan);
    }
    from_transfers_ = follows_transfers();
    link_ = from_transfers_ ? fitted_->link : recorded_.value_or(schedule::Link{});
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
    const auto latency = recorded_ ? std::make_optional(recorded_->latency_seconds) : std::nullopt;
    const auto between = [&](const std::vector<int>& ranks) { return one_host() || cross_hosts(hosts, ranks); };
    const auto inside = [&](const std::vector<int>& ranks) { return !between(ranks); };
    fitted_ = fit_link(recording_.plan, recording_.steps, between, latency);
    if (const auto fit = fit_link(recording_.plan, recording_.steps, inside, {})) inside_ = fit->link;
    const bool crosses = changed_.plan.program.ranks.size() > 1;
    const bool known = (recorded_ || fitted_) && !to_a_new_network();
    if (crosses && !known && !changes_.link.bytes_per_second) {
      throw base::ConfigError(
          base::say(refusal_texts.unknown_link,
                    base::say(to_a_new_network() ? refusal_texts.new_hosts : refusal_texts.its_ranks)));
    }
  }

  bool to_a_new_network() const { return one_host() && changes_.more_hosts > 0; }

  // Of what the run measured before its steps and what their transfers say, that which replays the steps more closely; the
  // latter only where it is closer by a hundredth.
  bool follows_transfers() const {
    const double closer = 0.01 * static_cast<double>(recording_.steps.size());
    return fitted_ && (!recorded_ || error_of(fitted_->link) + closer < error_of(*recorded_));
  }

  double error_of(const schedule::Link& link) const {
    double sum = 0;
    for (std::size_t step = 0; step < recording_.steps.size(); ++step) {
      const double measured = shares_of(recording_.steps[step]).step_seconds;
      sum += std::abs(std::log(shares_of(simulate(unchanged(step, link))).step_seconds / measured));
    }
    return sum;
  }

  // Transfers that went more slowly than the link as the run measured it waited for processors, too, or for each other: with
  // another rate part of that remains. The middle of both is taken for it.
  schedule::Link link_to_change() const {
    if (!changes_.link.any() || !recorded_ || !fitted_) return link_;
    return {link_.latency_seconds, std::sqrt(recorded_->bytes_per_second * fitted_->link.bytes_per_second)};
  }

  // The rate that a change names is one between neighbours, as the run measures it.
  schedule::Link changed_link(const schedule::Link& link) const {
    constexpr schedule::Link usual_network{0.0001, 1};
    LinkChange change = changes_.link;
    if (to_a_new_network()) return change.of(usual_network);
    if (change.bytes_per_second && recorded_)
      *change.bytes_per_second *= link.bytes_per_second / recorded_->bytes_per_second;
    return change.of(link);
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
    Replay replay = unchanged(step, changed_link(link));
    if (to_a_new_network()) {
      replay.links.inside = link;
    } else if (one_host()) {
      const double factor = link.bytes_per_second / replay.links.between.bytes_per_second;
      replay.inside_factor = std::isfinite(factor) ? factor : 1;
    }
    replay.plan = &changed_.plan;
    replay.host_of_rank = changed_.host_of_rank;
    replay.host_factors = changed_.host_factors;
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
      replayed.push_back(shares_of(simulate(unchanged(step, link_))));
      changed.push_back(shares_of(simulate(with_change(step, link_to_change()))));
      possible.push_back(changed[step].step_seconds);
      if (!recorded_ || !fitted_)
        add_possible(measured[step].step_seconds, replayed[step].step_seconds, changed[step].step_seconds, &possible);
      if (!recorded_ || !fitted_) continue;
      for (const schedule::Link& link : {*recorded_, fitted_->link}) {
        add_possible(measured[step].step_seconds, shares_of(simulate(unchanged(step, link))).step_seconds,
                     shares_of(simulate(with_change(step, link))).step_seconds, &possible);
      }
    }
    answer->measured = measured[median_of(measured)];
    answer->replayed = replayed[median_of(replayed)];
    const std::size_t median = median_of(changed);
    answer->changed = changed[median];
    answer->lowest_seconds = *std::min_element(possible.begin(), possible.end());
    answer->highest_seconds = *std::max_element(possible.begin(), possible.end());
    answer->limit = limit_of(with_change(median, link_to_change()), recording_.hosts);
    if (recording_.plan.shape.tp * recording_.plan.shape.cp > 1)
      answer->notes.push_back(base::say(what_if_texts.inside_passes));
    if (recording_.steps.size() == 1) answer->notes.push_back(base::say(what_if_texts.one_step));
  }

  // Once as simulated, once as far off as the replay without a change is.
  static void add_possible(double measured, double replayed, double changed, std::vector<double>* possible) {
    possible->push_back(changed);
    if (replayed > 0) possible->push_back(changed * measured / replayed);
  }

  void tell_links(WhatIf* answer) const {
    if (changed_.plan.program.ranks.size() > 1) answer->changed_link = changed_link(link_to_change());
    if (fitted_) answer->of_transfers = fitted_->link;
    answer->of_run = recorded_;
    if (!recorded_ && !fitted_) return;
    answer->link = link_;
    answer->link_from = from_transfers_ ? WhatIf::LinkFrom::transfers : WhatIf::LinkFrom::run;
  }

  const Recording& recording_;
  const Changes& changes_;
  ChangedPlan changed_;
  std::optional<schedule::Link> recorded_;
  std::optional<LinkFit> fitted_;
  bool from_transfers_ = false;
  schedule::Link link_, inside_;
  std::vector<RecordedSeconds> seconds_;  // of each step
  std::vector<LearntSpeeds> speeds_;      // the same, where the program changes
  std::vector<double> costs_;
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
