// The schedules: one section and one row of TROIKA_SCHEDULES (config/choices.h) each. Rank r is the pp rank.
#include "schedule/build/rank_builder.h"

#include <algorithm>

namespace troika::schedule {

// All forwards, then all backwards. Every microbatch of the share is in flight at once.
// Y. Huang et al., "GPipe: efficient training of giant neural networks using pipeline parallelism", NeurIPS 2019; the
// backwards ascend here (as in the gradient sum), which costs no time.
static Order order_gpipe(const StepShape&, int pp_rank, int count) {
  Order order;
  for (int m = 0; m < count; ++m) order.push_back(pass(Kind::fwd, m, pp_rank));
  for (int m = 0; m < count; ++m) order.push_back(pass(Kind::bwd, m, pp_rank));
  return order;
}

static int in_flight_gpipe(const StepShape&, int, int count) { return count; }

ScheduleDefinition gpipe() { return {ScheduleDefinition::Stages::one_per_rank, order_gpipe, in_flight_gpipe}; }

// pp-1-r forwards first, then one forward and one backward in turn: at most pp-r microbatches in flight on rank r.
// D. Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021 (PipeDream-Flush).
static Order order_1f1b(const StepShape& shape, int pp_rank, int count) {
  const int warm_up = std::min(shape.pp - 1 - pp_rank, count);
  Order order;
  for (int i = 0; i < count + warm_up; ++i) {
    if (i < count) order.push_back(pass(Kind::fwd, i, pp_rank));
    if (i >= warm_up) order.push_back(pass(Kind::bwd, i - warm_up, pp_rank));
  }
  return order;
}

static int in_flight_1f1b(const StepShape& shape, int pp_rank, int count) {
  return std::min(shape.pp - pp_rank, count);
}

ScheduleDefinition one_f_one_b() { return {ScheduleDefinition::Stages::one_per_rank, order_1f1b, in_flight_1f1b}; }

// Rank r holds the stages r, r + pp, ...: forwards in groups of pp microbatches, group by group through all its stages
// in order, backwards likewise through its stages in reverse order; some forwards first, then one forward and one
// backward in turn. A last group of fewer microbatches takes the order of a full one with the missing ones left out:
// leaving microbatches out of an order without deadlock gives none.
// D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using Megatron-LM", SC 2021.
static int warm_up_interleaved(const StepShape& shape, int pp_rank) {
  return 2 * (shape.pp - pp_rank - 1) + (shape.virtual_stages - 1) * shape.pp;
}

// The n-th pass of a direction, when every group is full.
static Instruction nth_pass(const StepShape& shape, int pp_rank, Kind kind, int n) {
  const int group_passes = shape.pp * shape.virtual_stages;
  const int chunk = n % group_passes / shape.pp;
  const int microbatch = n / group_passes * shape.pp + n % shape.pp;
  const int own = kind == Kind::fwd ? chunk : shape.virtual_stages - 1 - chunk;
  return pass(kind, microbatch, own * shape.pp + pp_rank);
}

static Order order_interleaved(const StepShape& shape, int pp_rank, int count) {
  const int groups = (count + shape.pp - 1) / shape.pp;
  const int passes = groups * shape.pp * shape.virtual_stages;
  const int warm_up = std::min(warm_up_interleaved(shape, pp_rank), passes);
  Order order;
  const auto add = [&](const Instruction& i) {
    if (i.microbatch < count) order.push_back(i);
  };
  for (int n = 0; n < passes + warm_up; ++n) {
    if (n < passes) add(nth_pass(shape, pp_rank, Kind::fwd, n));
    if (n >= warm_up) add(nth_pass(shape, pp_rank, Kind::bwd, n - warm_up));
  }
  return order;
}

static int in_flight_interleaved(const StepShape& shape, int pp_rank, int count) {
  return std::min(warm_up_interleaved(shape, pp_rank) + 1, shape.virtual_stages * count);
}

ScheduleDefinition interleaved() {
  return {ScheduleDefinition::Stages::several_per_rank, order_interleaved, in_flight_interleaved};
}

// 1F1B with split backwards: on rank r the weight backward of microbatch i is behind the input backward of i+r, the
// rest at the end, so that every rank holds at most pp microbatches and weight backwards fill what 1F1B idles at the
// end. P. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024 (ZB-H1).
static Order order_zb_h1(const StepShape& shape, int pp_rank, int count) {
  const int warm_up = std::min(shape.pp - 1 - pp_rank, count);
  Order order;
  for (int i = 0; i < count + warm_up; ++i) {
    if (i < count) order.push_back(pass(Kind::fwd, i, pp_rank));
    const int back = i - warm_up;
    if (back >= 0) order.push_back(pass(Kind::bwd_input, back, pp_rank));
    if (back >= pp_rank) order.push_back(pass(Kind::bwd_weight, back - pp_rank, pp_rank));
  }
  for (int m = std::max(0, count - pp_rank); m < count; ++m) order.push_back(pass(Kind::bwd_weight, m, pp_rank));
  return order;
}

static int in_flight_zb_h1(const StepShape& shape, int, int count) { return std::min(shape.pp, count); }

ScheduleDefinition zb_h1() { return {ScheduleDefinition::Stages::one_per_rank, order_zb_h1, in_flight_zb_h1}; }

}  // namespace troika::schedule
