#include "plan/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/instruction_units.h"

namespace troika::plan {
namespace {

using schedule::Instruction;
using schedule::Kind;

bool is_forward(Kind kind) { return schedule::has_pass(kind, schedule::forward_pass); }
bool is_backward(Kind kind) { return schedule::has_pass(kind, schedule::whole_backward); }
// What stands behind the pipeline in every step: reductions, the summary, the update without its copies.
bool is_tail(Kind kind) {
  using schedule::Part;
  const schedule::Traits& traits = schedule::traits(kind);
  const bool behind = traits.part == Part::reduction || traits.part == Part::summary || traits.part == Part::update;
  return behind && traits.role != schedule::Role::copy && traits.tasks != schedule::Tasks::evaluation;
}

double seconds_of(const std::map<std::string, double>& phases, bool (*belongs)(Kind)) {
  double sum = 0;
  for (const schedule::Traits& traits : schedule::kinds) {
    for (const char* part : {"", " exchange"}) {
      const auto found = belongs(traits.kind) ? phases.find(std::string(traits.name) + part) : phases.end();
      if (found != phases.end()) sum += found->second;
    }
  }
  return sum;
}

// The settings of the same training in another layout.
config::Settings settings_of(const Plan& plan, std::int64_t dp, std::int64_t pp) {
  config::Settings settings = plan.resolved.settings;
  settings.parallel.dp = dp;
  settings.parallel.pp = pp;
  settings.parallel.stage_layers.clear();
  settings.parallel.shares.clear();
  settings.parallel.schedule_file.clear();
  settings.parallel.virtual_stages = 1;
  if (settings.parallel.schedule == config::Schedule::interleaved)
    settings.parallel.schedule = config::ParallelSettings{}.schedule;
  settings.train.steps = plan.steps;
  const auto& batch = plan.resolved.batch;
  const double per_rank = static_cast<double>(batch.microbatches) / static_cast<double>(dp);
  config::BatchSettings sizes;
  sizes.seq_len = batch.seq_len;
  sizes.micro_batch_size = batch.micro;
  sizes.microbatches = std::max<std::int64_t>(1, std::llround(per_rank));
  settings.batch = sizes;
  return settings;
}

// Seconds of what all grid ranks of an instruction do together, once they have come. `bytes` is what one grid rank sends.
double exchange_seconds(const Instruction& i, std::size_t ranks, double norm_bytes, const schedule::Link& link) {
  const double bytes = i.kind == Kind::norm ? norm_bytes : static_cast<double>(i.bytes);
  if (bytes == 0 || (ranks < 2 && i.kind == Kind::norm)) return 0;
  return link.latency_seconds + bytes / link.bytes_per_second;
}

void count_sending(const Plan& plan, const schedule::Link& link, Prediction* prediction) {
  for (const auto& instructions : plan.program.ranks) {
    std::int64_t bytes = 0;
    double messages = 0;
    for (const Instruction& i : instructions) {
      if (!schedule::sends(i.kind) || i.bytes == 0) continue;
      bytes += i.bytes;
      ++messages;
    }
    prediction->sent_bytes = std::max(prediction->sent_bytes, bytes);
    const double seconds = static_cast<double>(bytes) / link.bytes_per_second + messages * link.latency_seconds;
    prediction->sending_seconds = std::max(prediction->sending_seconds, seconds);
  }
}

schedule::CostModel costs_of(const Plan& plan, const schedule::Link& link, const std::vector<RankSpeed>& speeds) {
  double tail_seconds = 0;
  for (const RankSpeed& speed : speeds) tail_seconds = std::max(tail_seconds, speed.tail_seconds);
  schedule::CostModel model;
  model.seconds = [&plan, speeds, tail_seconds, costs = segment_costs(plan)](int rank, const Instruction& i) {
    if (i.kind == Kind::step) return tail_seconds * trained_elements(plan, i);
    if (!schedule::is_computation(i.kind)) return 0.0;
    const auto first_rank = static_cast<std::size_t>(rank * plan.shape.tp * plan.shape.cp);
    const RankSpeed& speed = speeds.size() == 1 ? speeds.front() : speeds.at(first_rank);
    return (is_backward(i.kind) ? speed.backward_seconds : speed.forward_seconds) * units_of(plan, costs, i);
  };
  model.link = [link](int, int) { return link; };
  model.exchange_seconds = [link, facts = norm_bytes(plan)](const Instruction& i, const std::vector<int>& ranks) {
    return exchange_seconds(i, ranks.size(), facts, link);
  };
  return model;
}

double span_of(const schedule::StepTrace& trace) {
  double end = 0;
  for (const auto& timeline : trace.ranks) {
    for (const auto& event : timeline.events) end = std::max(end, event.end_seconds);
  }
  return end;
}

}  // namespace

RankSpeed speed_of(const Plan& plan, int grid_rank, const std::map<std::string, double>& phase_seconds,
                   std::int64_t steps) {
  double forward = 0, backward = 0, elements = 0;  // of one step
  const auto costs = segment_costs(plan);
  for (const Instruction& i : plan.program.ranks.at(static_cast<std::size_t>(grid_rank))) {
    if (is_forward(i.kind)) forward += units_of(plan, costs, i);
    if (is_backward(i.kind)) backward += units_of(plan, costs, i);
    if (i.kind == Kind::step) elements += trained_elements(plan, i);
  }
  // A rank of frozen segments alone has no backward and no steps.
  const auto per_unit = [&](bool (*belongs)(Kind), double units) {
    return units > 0 ? seconds_of(phase_seconds, belongs) / (units * static_cast<double>(steps)) : 0;
  };
  RankSpeed speed;
  speed.forward_seconds = per_unit(is_forward, forward);
  speed.backward_seconds = per_unit(is_backward, backward);
  speed.tail_seconds = per_unit(is_tail, elements);
  return speed;
}

std::vector<Plan> layouts_of(const Plan& plan) {
  std::vector<Plan> plans;
  const std::int64_t world = plan.shape.world(), split = plan.shape.dp * plan.shape.pp;
  for (std::int64_t pp = split; pp >= 1; --pp) {
    if (split % pp != 0) continue;
    if (pp == plan.shape.pp) {
      plans.push_back(plan);
      continue;
    }
    try {
      plans.push_back(make_plan(config::resolve(settings_of(plan, split / pp, pp), world), plan.data));
    } catch (const base::ConfigError&) {  // resolve() is the judge of what is legal
    }
  }
  return plans;
}

Prediction predict(const Plan& plan, const schedule::Link& link, const std::vector<RankSpeed>& speeds) {
  Prediction prediction;
  prediction.dp = plan.shape.dp;
  prediction.pp = plan.shape.pp;
  prediction.microbatches = plan.resolved.batch.microbatches;
  prediction.tokens = plan.resolved.batch.tokens_per_step();
  count_sending(plan, link, &prediction);
  prediction.step_seconds = span_of(schedule::simulate(plan.program, costs_of(plan, link, speeds)));
  return prediction;
}

std::string layout_name(int dp, int pp) {
  if (dp > 1 && pp > 1) return fmt::format("dp {} x pp {}", dp, pp);
  return dp > 1 ? fmt::format("dp {}", dp) : fmt::format("pp {}", pp);
}

std::string format_link(const schedule::Link& link) {
  const double megabits = link.bytes_per_second * 8e-6;
  const std::string rate =
      megabits < 1000 ? fmt::format("{:.3g} Mbit/s", megabits) : fmt::format("{:.3g} Gbit/s", megabits / 1000);
  return base::format_duration(link.latency_seconds) + ", " + rate;
}

std::string describe_link(const schedule::Link& link, const std::vector<Prediction>& predictions) {
  std::vector<std::string> parts;
  for (const Prediction& p : predictions) {
    parts.push_back(fmt::format("{} {} ({})", layout_name(p.dp, p.pp), base::format_bytes(p.sent_bytes),
                                base::format_duration(p.sending_seconds)));
  }
  return fmt::format("link    {} between neighbours; the most a rank sends in a step: {}", format_link(link),
                     base::join(parts, ", "));
}

std::string describe_layouts(std::vector<Prediction> predictions, const mesh::Shape& own) {
  std::stable_sort(predictions.begin(), predictions.end(), [](const Prediction& a, const Prediction& b) {
    return a.tokens_per_second() > b.tokens_per_second();
  });
  const auto is_own = [&](const Prediction& p) { return p.dp == own.dp && p.pp == own.pp; };
  const auto mine = std::find_if(predictions.begin(), predictions.end(), is_own);
  if (mine == predictions.end()) throw base::BugError("this run's layout is not among the predictions");
  std::vector<std::string> parts;
  for (const Prediction& p : predictions) {
    const std::string other_batch =
        p.microbatches == mine->microbatches ? "" : fmt::format(" of {} microbatches", p.microbatches);
    parts.push_back(fmt::format("{} {:.0f} tokens/s ({} a step{}{})", layout_name(p.dp, p.pp), p.tokens_per_second(),
                                base::format_duration(p.step_seconds), other_batch, is_own(p) ? ", this run" : ""));
  }
  std::string text = "layouts " + base::join(parts, ", ");
  const Prediction& best = predictions.front();
  const double gain = best.tokens_per_second() / mine->tokens_per_second();
  if (gain > 1.05) text += fmt::format("; --dp {} --pp {} would be {:.2f} times as fast", best.dp, best.pp, gain);
  return text;
}

}  // namespace troika::plan
