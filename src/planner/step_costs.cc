#include "planner/step_costs.h"

#include <algorithm>
#include <cmath>

#include "plan/buckets.h"
#include "schedule/instruction/placement.h"
#include "shape/operation_costs.h"

namespace troika::planner {
namespace {

using schedule::Instruction;
using schedule::Kind;
using shape::Operation;
using shape::OperationCost;
using shape::Pass;

double real(std::int64_t x) { return static_cast<double>(x); }

bool is_product(Operation operation) {
  return operation == Operation::qkv_product || operation == Operation::o_product ||
         operation == Operation::up_product || operation == Operation::down_product ||
         operation == Operation::output_product;
}

// What a selective recomputation does once more.
bool is_cheap(Operation operation) {
  return operation == Operation::add_norm || operation == Operation::rotation || operation == Operation::activation;
}

class OperationTimes {
 public:
  OperationTimes(const machine::Rates& rates, const plan::Job& job)
      : rates_(rates), products_(rates.products(job.precision())), cp_(job.shape.cp) {}

  double seconds(const OperationCost& row) const {
    if (is_product(row.operation))
      return rates_.call_seconds + row.work.flops / products_.flops_per_second +
             row.work.bytes / products_.bytes_per_second;
    // Of a part of the queries with all keys.
    const double flops = row.operation == Operation::attention ? row.work.flops * cp_ : 0;
    return rates_.call_seconds + flops / (rates_.attention_share * products_.flops_per_second) +
           row.work.bytes / rates_.between_bytes_per_second;
  }

 private:
  const machine::Rates& rates_;
  const machine::ProductRate products_;
  const double cp_;
};

void add(const OperationCost& row, double seconds, SegmentSeconds* to) {
  const Pass pass = row.pass;
  if (pass == Pass::forward) to->forward.compute += seconds;
  if (pass == Pass::backward || pass == Pass::input_gradient) to->input.compute += seconds;
  if (pass == Pass::weight_gradient) to->weight.compute += seconds;
  if (pass == Pass::both) to->forward.compute += seconds;
}

// Of a leaf: as integers added to the sum of own leaves.
double leaf_seconds(const plan::Job& job, const plan::Stages& stages, int segment, const machine::Rates& rates) {
  double bytes = 0;
  for (const plan::BucketShape& bucket : plan::buckets_of(job, stages, segment, {0, job.shape.tp})) {
    if (!bucket.trained) continue;
    const shape::SumShape sum = plan::sum_shape(job, bucket, {});
    const auto rows = shape::update_operations({{bucket.layout.elements, sum}}, job.precision());
    bytes += rows.front().work.bytes / real(std::max<std::int64_t>(sum.own_leaves(), 1));
  }
  return bytes / rates.stream_bytes_per_second;
}

// Of all rows of a microbatch once gathered over, or scattered to, the tp ranks; without sequence parallelism a sum is both.
double tensor_seconds(const plan::Job& job, const machine::Link& link, double times) {
  if (job.shape.tp == 1) return 0;
  const double tp = job.shape.tp;
  const double bytes = real(job.resolved.batch.micro) * real(job.positions({})) * real(job.model().hidden) *
                       real(job.element_bytes()) * (tp - 1) / tp;
  return times * ((tp - 1) * link.latency_seconds + bytes / link.bytes_per_second);
}

double context_seconds(const plan::Job& job, const machine::Link& link, double times) {
  if (job.shape.cp == 1) return 0;
  const double kv = real(shape::local_widths(job.model(), {0, job.shape.tp}).kv_heads.count * job.model().head_dim);
  const double bytes = 2 * kv * real(job.resolved.batch.micro) * real(job.positions({})) * real(job.element_bytes());
  return times * (job.shape.cp - 1) * (link.latency_seconds + bytes / link.bytes_per_second);
}

void drop_untrained(const plan::Job& job, int segment, SegmentSeconds* seconds) {
  if (!job.trained.own(segment)) seconds->weight = {};
}

int representative_block(const plan::Job& job) { return shape::segment_count(job.model()) - 2; }

}  // namespace

ModelSeconds model_seconds(const plan::Job& job, const machine::Rates& rates, const machine::Link& tensor,
                           const machine::Link& context) {
  const shape::MicrobatchShape microbatch{job.resolved.batch.micro, job.positions({}), job.tensor_share({}),
                                          job.sequence_parallel(), job.precision()};
  const OperationTimes times(rates, job);
  ModelSeconds model;
  const bool selective = job.saved_activations() == shape::SavedActivations::selective;
  for (const OperationCost& row : shape::block_operations(job.model(), microbatch)) {
    const double seconds = times.seconds(row);
    add(row, seconds, &model.block);
    if (selective && row.pass == Pass::forward && is_cheap(row.operation)) model.block.input.compute += seconds;
  }
  for (const OperationCost& row : shape::outer_operations(job.model(), microbatch))
    add(row, times.seconds(row), row.operation == Operation::embedding ? &model.embedding : &model.head);
  // The embedding's gradient goes to its table alone.
  std::swap(model.embedding.input.compute, model.embedding.weight.compute);
  const plan::Stages stages = plan::cut_stages(job);
  const int head = shape::segment_count(job.model()) - 1, block = representative_block(job);
  model.embedding.weight.compute += leaf_seconds(job, stages, 0, rates);
  model.block.weight.compute += leaf_seconds(job, stages, block, rates);
  model.head.weight.compute += leaf_seconds(job, stages, head, rates);
  const bool rows_split = job.sequence_parallel() == shape::SequenceParallel::on;
  model.block.forward.tensor = model.block.input.tensor = tensor_seconds(job, tensor, 4);
  model.block.weight.tensor = tensor_seconds(job, tensor, rows_split ? 2 : 0);
  model.head.forward.tensor = model.head.input.tensor = model.embedding.forward.tensor = model.embedding.weight.tensor =
      tensor_seconds(job, tensor, 1);
  model.block.forward.context = context_seconds(job, context, 1);
  model.block.input.context = context_seconds(job, context, 2);
  drop_untrained(job, 0, &model.embedding);
  drop_untrained(job, block, &model.block);
  drop_untrained(job, head, &model.head);
  return model;
}

bool GroupLinks::on_one_host(int first_rank, int end_rank) const {
  return placement_.host_of(first_rank) == placement_.host_of(end_rank - 1);
}

machine::Link GroupLinks::between_ranks(int from, int to) const {
  const int a = placement_.host_of(from), b = placement_.host_of(to);
  if (a == b) return placement_.inside(a);
  machine::Link link = placement_.between(a, b);
  link.bytes_per_second /= placement_.ranks_on(a);
  return link;
}

machine::Link GroupLinks::strided(int stride, int count) const {
  machine::Link slowest = between_ranks(0, stride);
  for (int rank = 0; rank + stride < shape_.world(); ++rank) {
    if (rank / stride % count == count - 1) continue;  // the last of its group
    const machine::Link link = between_ranks(rank, rank + stride);
    slowest.latency_seconds = std::max(slowest.latency_seconds, link.latency_seconds);
    slowest.bytes_per_second = std::min(slowest.bytes_per_second, link.bytes_per_second);
  }
  return slowest;
}

machine::Link GroupLinks::tensor() const { return shape_.tp == 1 ? machine::Link{} : strided(1, shape_.tp); }
machine::Link GroupLinks::context() const { return shape_.cp == 1 ? machine::Link{} : strided(shape_.tp, shape_.cp); }
machine::Link GroupLinks::stages(int from_world_rank, int to_world_rank) const {
  return between_ranks(from_world_rank, to_world_rank);
}

double GroupLinks::replicas(double bytes, double rounds) const {
  const int count = shape_.dp * shape_.cp, stage = count * shape_.tp;
  double slowest = 0;
  for (int first = 0; first < shape_.world(); first += stage) {
    const int first_host = placement_.host_of(first), end_host = placement_.host_of(first + stage - 1) + 1;
    if (on_one_host(first, first + stage)) {
      const machine::Link link = placement_.inside(first_host);
      slowest = std::max(slowest, rounds * link.latency_seconds + bytes / link.bytes_per_second);
      continue;
    }
    const machine::Link link = placement_.slowest_between(first_host, end_host);
    const int here = placement_.ranks_on(first_host);
    const double together = std::max(1.0, std::min<double>(here, stage) / shape_.tp);  // of one group on a host
    // A ring crosses each host's link once; where every rank sends to every other, what goes to other hosts crosses it.
    const double crossing = placement_.kind_of(first_host).computes_on_cores()
                                ? here * (count - together) / std::max(count - 1, 1)
                                : here / together;
    slowest = std::max(slowest, rounds * link.latency_seconds + bytes * crossing / link.bytes_per_second);
  }
  return slowest;
}

double GroupLinks::world(double bytes) const {
  const int world = shape_.world();
  if (world == 1) return 0;
  const machine::Link link = on_one_host(0, world) ? placement_.inside(placement_.host_of(0))
                                                   : placement_.slowest_between(0, placement_.hosts());
  return 2 * std::ceil(std::log2(world)) * link.latency_seconds + 2 * bytes / link.bytes_per_second;
}

namespace {

// The slowest of the ranks that a grid rank stands for.
machine::Rates rates_of_grid_rank(const Column& column, const machine::Placement& placement, int grid_rank) {
  const int first = column.world_rank_of(grid_rank), inside = column.job.shape.tp * column.job.shape.cp;
  const int ranks = column.pipelines == Pipelines::whole ? inside : inside * column.job.shape.dp;
  const auto speed = [&](const machine::Rates& rates) {
    return rates.products(column.job.precision()).flops_per_second;
  };
  machine::Rates slowest = placement.rates_of(first);
  for (int rank = first + 1; rank < first + ranks; ++rank) {
    if (placement.host_of(rank) == placement.host_of(rank - 1)) continue;
    const machine::Rates rates = placement.rates_of(rank);
    if (speed(rates) < speed(slowest)) slowest = rates;
  }
  return slowest;
}

bool same(const machine::Rates& a, const machine::Rates& b) {
  const auto numbers = [](const machine::Rates& r) {
    return std::vector<double>{r.fp32.flops_per_second,    r.bf16.flops_per_second,   r.fp16.flops_per_second,
                               r.between_bytes_per_second, r.stream_bytes_per_second, r.call_seconds,
                               r.attention_share};
  };
  return numbers(a) == numbers(b);
}

UpdateSeconds update_seconds(const Column& column, int grid_rank, const machine::Rates& rates) {
  const plan::Job& job = column.job;
  const mesh::Coordinate at = column.coordinate_of(grid_rank);
  UpdateSeconds seconds;
  seconds.steps.assign(static_cast<std::size_t>(shape::segment_count(job.model())), 0);
  for (const int g : column.stages.segments_of(at.pp)) {
    for (const plan::BucketShape& bucket : plan::buckets_of(job, column.stages, g, job.tensor_share(at))) {
      if (!bucket.trained || bucket.part == plan::BucketShape::Part::shared_table) continue;
      const shape::SumShape sum = plan::sum_shape(job, bucket, at);
      const shape::ShardPlan shards = plan::shard_plan(job, bucket);
      const std::int64_t own = shards.elements_of(sum.place.index()).count;
      const bool whole = job.settings().parallel.zero == 0;
      const auto rows = shape::update_operations({{whole ? shards.elements() : own, sum}}, job.precision());
      const double norm = whole ? rows[1].work.bytes / job.replicas() : rows[1].work.bytes;
      seconds.norm += norm / rates.stream_bytes_per_second;
      seconds.steps[static_cast<std::size_t>(g)] +=
          rates.call_seconds + rows[2].work.bytes / rates.stream_bytes_per_second;
    }
  }
  return seconds;
}

}  // namespace

StepCosts::StepCosts(const Column& column, const machine::Placement& placement)
    : column_(column), placement_(placement), links_(column.job.shape, placement) {
  const auto ranks = static_cast<int>(column.program.ranks.size());
  std::vector<machine::Rates> seen;
  const machine::Link tensor = links_.tensor(), context = links_.context();
  for (int rank = 0; rank < ranks; ++rank) {
    const machine::Rates rates = rates_of_grid_rank(column, placement, rank);
    const auto found = std::find_if(seen.begin(), seen.end(), [&](const auto& other) { return same(rates, other); });
    model_index_.push_back(static_cast<std::size_t>(found - seen.begin()));
    if (found == seen.end()) {
      seen.push_back(rates);
      models_.push_back(model_seconds(column.job, rates, tensor, context));
    }
    updates_.push_back(update_seconds(column, rank, rates));
    stream_.push_back(rates.stream_bytes_per_second);
  }
}

// Of an instruction without a microbatch: that of the first data-parallel rank.
int StepCosts::grid_rank_of(const Instruction& i) const {
  const int dp_rank = i.microbatch < 0 ? 0 : column_.program.dp_rank_of(i.microbatch);
  return i.stage < 0 ? 0 : column_.program.rank_of_stage(i.stage, dp_rank);
}

PassSeconds StepCosts::pass_of(const Instruction& i) const {
  PassSeconds sum;
  const ModelSeconds& model = model_of(grid_rank_of(i));
  const schedule::SegmentRange range = schedule::segments_of(column_.program, i);
  const auto take = [&sum](const PassSeconds& pass) {
    sum.compute += pass.compute;
    sum.tensor += pass.tensor;
    sum.context += pass.context;
  };
  for (int g = range.begin; g < range.end; ++g) {
    const SegmentSeconds& segment = model.of(g, column_.program.segments());
    if (schedule::has_pass(i.kind, schedule::forward_pass) || schedule::has_pass(i.kind, schedule::recompute_pass))
      take(segment.forward);
    if (schedule::has_pass(i.kind, schedule::input_pass)) take(segment.input);
    if (schedule::has_pass(i.kind, schedule::weight_pass)) take(segment.weight);
  }
  return sum;
}

double StepCosts::update_of(const Instruction& i, int grid_rank) const {
  const UpdateSeconds& update = updates_of(grid_rank);
  if (i.kind == Kind::norm) return update.norm;
  double seconds = 0;
  const schedule::SegmentRange range = schedule::segments_of(column_.program, i);
  for (int g = range.begin; g < range.end; ++g) seconds += update.steps[static_cast<std::size_t>(g)];
  return seconds;
}

// Exchanged sums are packed, unpacked and added on processors, about three times their bytes.
static constexpr double touched_per_sent_byte = 3;

schedule::CostModel StepCosts::model() const {
  schedule::CostModel model;
  double norm = 0;
  for (const UpdateSeconds& update : updates_) norm = std::max(norm, update.norm);
  model.seconds = [this, norm](const Instruction& i) {
    if (i.kind == Kind::norm) return norm;
    if (i.kind == Kind::step) return update_of(i, grid_rank_of(i));
    if (i.kind == Kind::reduce_grads)
      return touched_per_sent_byte * real(i.bytes) / stream_[static_cast<std::size_t>(grid_rank_of(i))];
    if (i.kind == Kind::fetch || i.kind == Kind::offload) return 0.0;
    return schedule::is_computation(i.kind) ? pass_of(i).all() : 0.0;
  };
  model.link = [this](int from, int to) {
    const machine::Link link = links_.stages(column_.world_rank_of(from), column_.world_rank_of(to));
    return schedule::Link{link.latency_seconds, link.bytes_per_second};
  };
  model.exchange_seconds = [this](const Instruction& i, const std::vector<int>& ranks) {
    return exchange_seconds(i, ranks);
  };
  const mesh::Shape& shape = column_.job.shape;
  const int inside = shape.tp * shape.cp;
  bool shared = false;
  for (int host = 0; host < placement_.hosts(); ++host)
    shared = shared || placement_.at_once(host) < placement_.ranks_on(host);
  if (!shared || column_.pipelines == Pipelines::one) return model;
  for (std::size_t rank = 0; rank < column_.program.ranks.size(); ++rank)
    model.processors.host_of_rank.push_back(placement_.host_of(column_.world_rank_of(static_cast<int>(rank))));
  for (int host = 0; host < placement_.hosts(); ++host)
    model.processors.at_once.push_back(static_cast<double>(placement_.at_once(host)) / inside);
  return model;
}

double StepCosts::exchange_seconds(const Instruction& i, const std::vector<int>& ranks) const {
  const double bytes = real(i.bytes);
  if (schedule::traits(i.kind).peers == schedule::Peers::world)
    return links_.world(8 * (64 + real(static_cast<std::int64_t>(column_.job.trained_parameters().size()))));
  if (bytes == 0) return 0;
  if (schedule::traits(i.kind).peers == schedule::Peers::tied_stages) {
    const machine::Link link = links_.stages(column_.world_rank_of(ranks.front()), column_.world_rank_of(ranks.back()));
    return link.latency_seconds + bytes / link.bytes_per_second;
  }
  return links_.replicas(bytes, column_.job.replicas() - 1);
}

}  // namespace troika::planner
