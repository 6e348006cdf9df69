#include "train/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "model/layout.h"

namespace troika::train {
namespace {

using schedule::Instruction;
using schedule::Kind;

double cost_of_stage(const Plan& plan, int stage) {
  const auto costs = model::segment_costs(plan.model(), plan.resolved.batch.seq_len);
  const auto [first, end] = plan.stages[static_cast<std::size_t>(stage)];
  double sum = 0;
  for (int segment = first; segment < end; ++segment) sum += costs[static_cast<std::size_t>(segment)];
  return sum;
}

double elements_of_stage(const Plan& plan, int stage) {
  const auto [first, end] = plan.stages[static_cast<std::size_t>(stage)];
  return static_cast<double>(model::stage_layout(plan.model(), first, end).gradient_elements);
}

double microbatch_tokens(const Plan& plan) {
  return static_cast<double>(plan.resolved.batch.micro * plan.resolved.batch.seq_len);
}

double seconds_of(const std::map<std::string, double>& phases, std::initializer_list<Kind> kinds) {
  double sum = 0;
  for (const Kind kind : kinds) {
    const auto found = phases.find(schedule::name(kind));
    if (found != phases.end()) sum += found->second;
  }
  return sum;
}

// The settings of the same training in another layout.
config::Settings settings_of(const Plan& plan, std::int64_t dp, std::int64_t pp) {
  config::Settings settings = plan.resolved.settings;
  settings.parallel.dp = dp;
  settings.parallel.pp = pp;
  settings.parallel.stage_layers.clear();
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

// Seconds of what all lanes of an instruction do together, once they have come. `bytes` is what one lane sends.
double exchange_seconds(const Instruction& i, std::size_t lanes, double norm_bytes, const schedule::Link& link) {
  if (lanes < 2) return 0;
  const double rounds = i.kind == Kind::reduce_grads ? 2 : 1;
  const double bytes = i.kind == Kind::norm ? norm_bytes : static_cast<double>(i.bytes);
  return rounds * link.latency_seconds + bytes / link.bytes_per_second;
}

// Losses, counts and squared norms of a step, to every other rank, 8 bytes each.
double norm_bytes(const Plan& plan) {
  const auto facts = 2 * static_cast<std::size_t>(plan.program.microbatches) + plan.parameter_names().size();
  return static_cast<double>(8 * facts * static_cast<std::size_t>(plan.shape.world() - 1));
}

bool sends(Kind kind) {
  return kind == Kind::send_act || kind == Kind::send_grad || kind == Kind::reduce_grads || kind == Kind::reduce_tied;
}

void count_sending(const Plan& plan, const schedule::Link& link, Prediction* prediction) {
  for (const auto& lane : plan.program.lanes) {
    std::int64_t bytes = 0;
    double messages = 0;
    for (const Instruction& i : lane) {
      if (!sends(i.kind) || i.bytes == 0) continue;
      bytes += i.bytes;
      ++messages;
    }
    prediction->sent_bytes = std::max(prediction->sent_bytes, bytes);
    const double seconds = static_cast<double>(bytes) / link.bytes_per_second + messages * link.latency_seconds;
    prediction->sending_seconds = std::max(prediction->sending_seconds, seconds);
  }
}

schedule::CostModel costs_of(const Plan& plan, const schedule::Link& link, const std::vector<RankSpeed>& speeds) {
  std::vector<double> costs;
  double most_elements = 0, tail_seconds = 0;
  for (int stage = 0; stage < plan.program.stages(); ++stage) {
    costs.push_back(cost_of_stage(plan, stage) * microbatch_tokens(plan));
    most_elements = std::max(most_elements, elements_of_stage(plan, stage));
  }
  for (const RankSpeed& speed : speeds) tail_seconds = std::max(tail_seconds, speed.tail_seconds);
  schedule::CostModel model;
  model.seconds = [&plan, speeds, costs, step = tail_seconds * most_elements](const Instruction& i) {
    if (i.kind == Kind::step) return step;
    if (i.kind != Kind::fwd && i.kind != Kind::bwd) return 0.0;
    const int lane = plan.program.lane_of_stage(i.stage, plan.program.dp_rank_of(i.microbatch));
    const RankSpeed& speed = speeds.size() == 1 ? speeds.front() : speeds.at(static_cast<std::size_t>(lane));
    return (i.kind == Kind::fwd ? speed.forward_seconds : speed.backward_seconds) *
           costs[static_cast<std::size_t>(i.stage)];
  };
  model.link = [link](int, int) { return link; };
  model.exchange_seconds = [link, facts = norm_bytes(plan)](const Instruction& i, const std::vector<int>& lanes) {
    return exchange_seconds(i, lanes.size(), facts, link);
  };
  return model;
}

std::string format_rate(double bytes_per_second) {
  const double megabits = bytes_per_second * 8e-6;
  return megabits < 1000 ? fmt::format("{:.3g} Mbit/s", megabits) : fmt::format("{:.3g} Gbit/s", megabits / 1000);
}

double span_of(const schedule::StepTrace& trace) {
  double end = 0;
  for (const auto& lane : trace.lanes) {
    for (const auto& event : lane.events) end = std::max(end, event.end_seconds);
  }
  return end;
}

}  // namespace

RankSpeed speed_of(const Plan& plan, int lane, const std::map<std::string, double>& phase_seconds, std::int64_t steps) {
  double units = 0, elements = 0;  // of one step
  for (const Instruction& i : plan.program.lanes.at(static_cast<std::size_t>(lane))) {
    if (i.kind == Kind::fwd) units += cost_of_stage(plan, i.stage) * microbatch_tokens(plan);
    if (i.kind == Kind::reduce_grads) elements += elements_of_stage(plan, i.stage);
  }
  const double count = static_cast<double>(steps);
  RankSpeed speed;
  speed.forward_seconds = seconds_of(phase_seconds, {Kind::fwd}) / (units * count);
  speed.backward_seconds =
      seconds_of(phase_seconds, {Kind::bwd, Kind::bwd_input, Kind::bwd_weight, Kind::refwd}) / (units * count);
  speed.tail_seconds =
      seconds_of(phase_seconds, {Kind::reduce_grads, Kind::reduce_tied, Kind::norm, Kind::step}) / (elements * count);
  return speed;
}

std::vector<Plan> layouts_of(const Plan& plan) {
  std::vector<Plan> plans;
  const std::int64_t world = plan.shape.world();
  for (std::int64_t pp = world; pp >= 1; --pp) {
    if (world % pp != 0) continue;
    if (pp == plan.shape.pp) {
      plans.push_back(plan);
      continue;
    }
    try {
      plans.push_back(make_plan(config::resolve(settings_of(plan, world / pp, pp), world), plan.data));
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

std::string describe_link(const schedule::Link& link, const std::vector<Prediction>& predictions) {
  std::vector<std::string> parts;
  for (const Prediction& p : predictions) {
    parts.push_back(fmt::format("{} {} ({})", layout_name(p.dp, p.pp), base::format_bytes(p.sent_bytes),
                                base::format_duration(p.sending_seconds)));
  }
  return fmt::format("link    {}, {} between neighbours; the most a rank sends in a step: {}",
                     base::format_duration(link.latency_seconds), format_rate(link.bytes_per_second),
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

}  // namespace troika::train
