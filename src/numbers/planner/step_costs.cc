#include "planner/step_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/stages.h"
#include "planner/layout.h"
#include "schedule/instruction/placement.h"
#include "shape/operation_costs.h"
#include "shape/shard_plan.h"

namespace troika::planner {
namespace {

using schedule::Instruction;
using schedule::Kind;
using shape::Operation;
using shape::OperationCost;
using shape::Pass;

bool is_product(Operation operation) {
  return operation == Operation::qkv_product || operation == Operation::o_product ||
         operation == Operation::up_product || operation == Operation::down_product ||
         operation == Operation::output_product;
}

// Whether a selective recomputation repeats the operation.
bool is_cheap(Operation operation) {
  return operation == Operation::add_norm || operation == Operation::rotation || operation == Operation::activation;
}

double seconds_of(const OperationCost& row, const PassShape& shape, const machine::Rates& rates) {
  constexpr double backward_flops = 2.5, backward_bytes = 1.5;  // of attention, over a forward's
  const config::Precision precision = shape.microbatch.precision;
  if (is_product(row.operation)) return rates.product_seconds(precision, row.work.flops, row.work.bytes);
  if (row.operation != Operation::attention) return rates.between_seconds(row.work.bytes);
  const bool forward = row.pass == Pass::forward;
  const double flops = row.work.flops * shape.cp;  // of a part of the queries with all keys
  const double pairs = (forward ? flops : flops / backward_flops) / (2 * real(shape.model.head_dim));
  const double scores = rates.score_bytes * pairs * (forward ? 1 : backward_bytes);
  return rates.attention_seconds(precision, flops, row.work.bytes + scores);
}

void add(const OperationCost& row, double seconds, SegmentSeconds* to) {
  const Pass pass = row.pass;
  if (pass == Pass::forward) to->forward.compute += seconds;
  if (pass == Pass::backward || pass == Pass::input_gradient) to->input.compute += seconds;
  if (pass == Pass::weight_gradient) to->weight.compute += seconds;
  if (pass == Pass::both) to->forward.compute += seconds;
}

double rows_bytes(const PassShape& shape, std::int64_t width) {
  return real(shape.microbatch.rows.M) * real(width) *
         real(config::bytes_of(shape.microbatch.precision));
}

// All rows of a microbatch, `times` gathered over or scattered to the tp ranks; a sum without sequence parallelism is both.
void add_tensor(const PassShape& shape, const machine::Link& link, double times, PassSeconds* pass) {
  const double tp = shape.microbatch.share.size;
  if (tp == 1) return;
  const double bytes = rows_bytes(shape, shape.model.hidden) * (tp - 1) / tp;
  pass->tensor += times * ((tp - 1) * link.latency_seconds + bytes / link.bytes_per_second);
  pass->sent_bytes += times * bytes;
}

// The keys and values of a rank, `times` around the ring.
void add_context(const PassShape& shape, const machine::Link& link, double times, PassSeconds* pass) {
  if (shape.cp == 1) return;
  const std::int64_t kv =
      shape::local_widths(shape.model, shape.microbatch.share).kv_heads.count * shape.model.head_dim;
  const double bytes = rows_bytes(shape, 2 * kv);
  pass->context += times * (shape.cp - 1) * (link.latency_seconds + bytes / link.bytes_per_second);
  pass->sent_bytes += times * (shape.cp - 1) * bytes;
}

void drop_untrained(const PassShape& shape, int segment, SegmentSeconds* seconds) {
  if (!shape.trained.own(segment)) seconds->weight = {};
}

}  // namespace

PassShape pass_shape(const plan::Job& job, shape::ComputedBy by) {
  return {job.model(),
          {job.usual_rows({}), job.tensor_share({}), job.sequence_parallel(), job.precision(), by},
          job.shape.cp,
          job.saved_activations(),
          job.trained};
}

static SegmentSeconds block_seconds(const PassShape& shape, const shape::BlockKind& kind, const machine::Rates& rates,
                                    const machine::Link& tensor, const machine::Link& context) {
  SegmentSeconds block;
  const bool selective = shape.saved == shape::SavedActivations::selective;
  for (const OperationCost& row : shape::block_operations(shape.model, kind, shape.microbatch)) {
    const double seconds = seconds_of(row, shape, rates);
    add(row, seconds, &block);
    if (selective && row.pass == Pass::forward && is_cheap(row.operation)) block.input.compute += seconds;
  }
  const double halves = kind.attends() ? 2 : 1;
  const bool rows_split = shape.microbatch.sequence == shape::SequenceParallel::on;
  for (PassSeconds* pass : {&block.forward, &block.input}) add_tensor(shape, tensor, 2 * halves, pass);
  add_tensor(shape, tensor, rows_split ? halves : 0, &block.weight);
  if (kind.attends()) {
    add_context(shape, context, 1, &block.forward);
    add_context(shape, context, 2, &block.input);
  }
  return block;
}

ModelSeconds model_seconds(const PassShape& shape, const machine::Rates& rates, const machine::Link& tensor,
                           const machine::Link& context) {
  ModelSeconds model;
  const int head = shape::segment_count(shape.model) - 1;
  shape::BlockKinds kinds(shape.model);
  for (const shape::BlockKind& kind : kinds.kinds) {
    model.blocks.push_back(block_seconds(shape, kind, rates, tensor, context));
    drop_untrained(shape, head - 1, &model.blocks.back());
  }
  model.of_block = std::move(kinds.of_block);
  for (const OperationCost& row : shape::outer_operations(shape.model, shape.microbatch))
    add(row, seconds_of(row, shape, rates), row.operation == Operation::embedding ? &model.embedding : &model.head);
  std::swap(model.embedding.input.compute, model.embedding.weight.compute);  // its gradient goes to its table alone
  for (PassSeconds* pass : {&model.head.forward, &model.head.input, &model.embedding.forward, &model.embedding.weight})
    add_tensor(shape, tensor, 1, pass);
  drop_untrained(shape, 0, &model.embedding);
  drop_untrained(shape, head, &model.head);
  return model;
}

double leaf_seconds(std::int64_t elements, const shape::SumShape& sum, const machine::Rates& rates) {
  const auto rows = shape::update_operations({{elements, sum}}, 0);
  const double bytes = rows.front().work.bytes / real(std::max<std::int64_t>(sum.own_leaves(), 1));
  return bytes / rates.stream_bytes_per_second;
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
// Where processors of more than two hosts exchange, streams go both ways at once and several come in on one link: what is left of
// what one stream reaches, as it was measured on three hosts with 10 and 100 Mbit/s (tools/proofs/sweep.sh).
static constexpr double share_of_colliding = 0.8;

machine::Link GroupLinks::replicas() const {
  const int count = shape_.dp * shape_.cp, stage = count * shape_.tp;
  machine::Link slowest;
  if (count == 1) return slowest;
  const auto take = [&](double latency_seconds, double bytes_per_second) {
    slowest.latency_seconds = std::max(slowest.latency_seconds, latency_seconds);
    if (slowest.bytes_per_second == 0 || bytes_per_second < slowest.bytes_per_second)
      slowest.bytes_per_second = bytes_per_second;
  };
  for (int first = 0; first < shape_.world(); first += stage) {
    const int first_host = placement_.host_of(first), end_host = placement_.host_of(first + stage - 1) + 1;
    if (on_one_host(first, first + stage)) {
      const machine::Link link = placement_.inside(first_host);
      take(link.latency_seconds, link.bytes_per_second);
      continue;
    }
    const machine::Link link = placement_.slowest_between(first_host, end_host);
    const int here = placement_.ranks_on(first_host);
    const double together = std::max(1.0, std::min<double>(here, stage) / shape_.tp);  // of one group on a host
    // A ring crosses each host's link once; where every rank sends to every other, what goes to other hosts crosses it.
    const double crossing = placement_.kind_of(first_host).computes_on_cores()
                                ? here * (count - together) / std::max(count - 1, 1)
                                : here / together;
    const bool collide = placement_.kind_of(first_host).computes_on_cores() && end_host - first_host > 2;
    take(link.latency_seconds, (collide ? share_of_colliding : 1) * link.bytes_per_second / crossing);
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

// The slowest of the ranks that a grid rank represents.
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
    std::vector<double> all{r.between_bytes_per_second, r.stream_bytes_per_second, r.call_seconds};
    for (const machine::PrecisionRates& p : {r.fp32, r.bf16, r.fp16})
      all.insert(all.end(), {p.flops_per_second, p.bytes_per_second, p.attention_share, p.attention_bytes_per_second});
    return all;
  };
  return numbers(a) == numbers(b);
}

std::vector<double> leaves_of_segments(const Column& column, int grid_rank, const machine::Rates& rates) {
  const plan::Job& job = column.job;
  const mesh::Coordinate at = column.coordinate_of(grid_rank);
  std::vector<double> seconds(static_cast<std::size_t>(shape::segment_count(job.model())), 0);
  for (const int g : column.stages.segments_of(at.pp)) {
    for (const plan::BucketShape& bucket : plan::buckets_of(job, column.stages, g, job.tensor_share(at))) {
      if (bucket.trained)
        seconds[static_cast<std::size_t>(g)] +=
            leaf_seconds(bucket.layout.elements, plan::sum_shape(job, bucket, at), rates);
    }
  }
  return seconds;
}

// A device's state goes over PCIe; a processor's from memory to memory, or to a disk.
double copied_per_second(const plan::Job& job, const machine::Host& host, const machine::Rates& rates) {
  constexpr double pcie = 20e9, unknown_disk = 200e6;
  if (job.settings().parallel.offload == config::Offload::file)
    return host.disk_bytes_per_second > 0 ? host.disk_bytes_per_second : unknown_disk;
  return host.computes_on_cores() ? rates.stream_bytes_per_second : pcie;
}

UpdateSeconds update_seconds(const Column& column, int grid_rank, const machine::Rates& rates,
                             const machine::Host& host) {
  const plan::Job& job = column.job;
  const mesh::Coordinate at = column.coordinate_of(grid_rank);
  const shape::OptimizerShape optimizer = job.optimizer();
  UpdateSeconds seconds;
  seconds.steps.assign(static_cast<std::size_t>(shape::segment_count(job.model())), 0);
  seconds.copies = seconds.steps;
  const double copied = copied_per_second(job, host, rates);
  for (const int g : column.stages.segments_of(at.pp)) {
    for (const plan::BucketShape& bucket : plan::buckets_of(job, column.stages, g, job.tensor_share(at))) {
      if (!bucket.trained || bucket.part == plan::BucketShape::Part::shared_table) continue;
      const shape::SumShape sum = plan::sum_shape(job, bucket, at);
      const shape::ShardPlan shards = plan::shard_plan(job, bucket);
      const std::int64_t own = shards.elements_of(sum.place.index()).count;
      const bool whole = job.settings().parallel.zero == 0;
      const std::int64_t kept = whole ? shards.elements() : own;
      const auto rows = shape::update_operations({{kept, sum}}, optimizer.update_bytes(job.element_bytes()));
      seconds.copies[static_cast<std::size_t>(g)] += real(optimizer.bytes(job.element_bytes()) * kept) / copied;
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
    : column_(column), placement_(placement), links_(column.job.shape, placement), replicas_(links_.replicas()) {
  const auto ranks = static_cast<int>(column.program.ranks.size());
  std::vector<machine::Rates> seen;
  const machine::Link tensor = links_.tensor(), context = links_.context();
  for (int rank = 0; rank < ranks; ++rank) {
    const machine::Rates rates = rates_of_grid_rank(column, placement, rank);
    const machine::Host& host = placement.kind_of_rank(column.world_rank_of(rank));
    const auto found = std::find_if(seen.begin(), seen.end(), [&](const auto& other) { return same(rates, other); });
    model_index_.push_back(static_cast<std::size_t>(found - seen.begin()));
    if (found == seen.end()) {
      seen.push_back(rates);
      const auto by = host.computes_on_cores() ? shape::ComputedBy::cores : shape::ComputedBy::gpu;
      models_.push_back(model_seconds(pass_shape(column.job, by), rates, tensor, context));
    }
    leaves_.push_back(leaves_of_segments(column, rank, rates));
    updates_.push_back(update_seconds(column, rank, rates, host));
    stream_.push_back(rates.stream_bytes_per_second);
  }
}

PassSeconds StepCosts::pass_of(int grid_rank, const Instruction& i) const {
  PassSeconds sum;
  if (schedule::is_spare(column_.program, column_.job.room, i.microbatch)) return sum;
  const auto at = static_cast<std::size_t>(grid_rank);
  const ModelSeconds& model = models_[model_index_[at]];
  const schedule::SegmentRange range = schedule::segments_of(column_.program, i);
  const auto take = [&sum](const PassSeconds& pass) {
    sum.compute += pass.compute;
    sum.tensor += pass.tensor;
    sum.context += pass.context;
    sum.sent_bytes += pass.sent_bytes;
  };
  for (int g = range.begin; g < range.end; ++g) {
    const SegmentSeconds& segment = model.of(g);
    if (schedule::has_pass(i.kind, schedule::forward_pass) || schedule::has_pass(i.kind, schedule::recompute_pass))
      take(segment.forward);
    if (schedule::has_pass(i.kind, schedule::input_pass)) take(segment.input);
    if (!schedule::has_pass(i.kind, schedule::weight_pass)) continue;
    take(segment.weight);
    sum.compute += leaves_[at][static_cast<std::size_t>(g)];
  }
  return sum;
}

double StepCosts::update_of(int grid_rank, const Instruction& i) const {
  const UpdateSeconds& update = updates_[static_cast<std::size_t>(grid_rank)];
  double seconds = 0;
  const schedule::SegmentRange range = schedule::segments_of(column_.program, i);
  const std::vector<double>& of_segment = i.kind == Kind::step ? update.steps : update.copies;
  for (int g = range.begin; g < range.end; ++g) seconds += of_segment[static_cast<std::size_t>(g)];
  return seconds;
}

// Exchanged sums are packed, unpacked and added on processors, about three times their bytes.
static constexpr double touched_per_sent_byte = 3;

// Ranks of a tp group wait for each other after every product: of three on two processors the third has its turn when the
// others wait.
static double in_step(int at_once, int tp) {
  const int rounds = (tp + at_once - 1) / at_once;
  return rounds > 1 ? static_cast<double>(tp) / rounds : at_once;
}

schedule::CostModel StepCosts::model() const {
  schedule::CostModel model;
  model.seconds = [this](int rank, const Instruction& i) {
    const auto at = static_cast<std::size_t>(rank);
    if (i.kind == Kind::norm) return updates_[at].norm;
    if (i.kind == Kind::step || schedule::traits(i.kind).role == schedule::Role::copy) return update_of(rank, i);
    if (i.kind == Kind::reduce_grads) return touched_per_sent_byte * real(i.bytes) / stream_[at];
    return schedule::is_computation(i.kind) ? pass_of(rank, i).all() : 0.0;
  };
  model.link = [this](int from, int to) {
    const machine::Link link = links_.between_ranks(column_.world_rank_of(from), column_.world_rank_of(to));
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
    model.processors.at_once.push_back(in_step(placement_.at_once(host), shape.tp) / inside);
  return model;
}

double StepCosts::exchange_seconds(const Instruction& i, const std::vector<int>& ranks) const {
  const double bytes = real(i.bytes);
  if (schedule::traits(i.kind).peers == schedule::Peers::world)
    return links_.world(8 * (64 + real(static_cast<std::int64_t>(column_.job.trained_parameters().size()))));
  if (bytes == 0) return 0;
  if (schedule::traits(i.kind).peers == schedule::Peers::tied_stages) {
    const machine::Link link = links_.between_ranks(column_.world_rank_of(ranks.front()), column_.world_rank_of(ranks.back()));
    return link.latency_seconds + bytes / link.bytes_per_second;
  }
  return (column_.job.replicas() - 1) * replicas_.latency_seconds + bytes / replicas_.bytes_per_second;
}

}  // namespace troika::planner
