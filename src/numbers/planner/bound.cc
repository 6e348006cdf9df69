#include "planner/bound.h"

#include <algorithm>
#include <limits>

#include "config/lora.h"
#include "plan/stages.h"
#include "shape/adapter.h"
#include "shape/architecture.h"

namespace troika::planner {
namespace {

constexpr std::int64_t rounded_off = 16 * shape::norm_chunk;  // a replica's part is whole chunks

// The passes on one rank of the interleaved schedule before the first backward (schedule/build/schedules.cc), of microbatches that
// exist: groups of pp microbatches go through all stages of the rank.
std::int64_t forwards_before_backwards(const Layout& l, std::int64_t m, int pp_rank) {
  const std::int64_t pp = l.pp, v = l.virtual_stages, groups = (m + pp - 1) / pp;
  const std::int64_t passes = std::min(2 * (pp - pp_rank - 1) + (v - 1) * pp + 1, groups * pp * v);
  std::int64_t count = 0;
  for (std::int64_t group = 0; group * pp * v < passes; ++group) {
    const std::int64_t rest = std::min(passes - group * pp * v, pp * v), here = std::min(pp, m - group * pp);
    count += rest / pp * here + std::min(rest % pp, here);
  }
  return count;
}

// What `make` gives for the key, which is computed once.
template <class Map, class Make>
const typename Map::mapped_type& remembered(Map* map, const typename Map::key_type& key, Make make) {
  const auto found = map->find(key);
  return found != map->end() ? found->second : map->emplace(key, make()).first->second;
}

void raise(double* most, double other) { *most = std::max(*most, other); }

machine::Rates fastest(const machine::Placement& placement) {
  machine::Rates best = placement.rates_of(0);
  for (int rank = 1; rank < placement.world(); ++rank) {
    if (placement.host_of(rank) == placement.host_of(rank - 1)) continue;
    const machine::Rates r = placement.rates_of(rank);
    for (const auto precision : {config::Precision::fp32, config::Precision::bf16, config::Precision::fp16}) {
      machine::PrecisionRates& most = best.products(precision);
      const machine::PrecisionRates& other = r.products(precision);
      raise(&most.flops_per_second, other.flops_per_second);
      raise(&most.bytes_per_second, other.bytes_per_second);
      raise(&most.attention_share, other.attention_share);
      most.attention_bytes_per_second = std::max(best.attention_bytes_per_second(precision), r.attention_bytes_per_second(precision));
    }
    raise(&best.between_bytes_per_second, r.between_bytes_per_second);
    raise(&best.stream_bytes_per_second, r.stream_bytes_per_second);
    best.call_seconds = std::min(best.call_seconds, r.call_seconds);
  }
  return best;
}

}  // namespace

Bounds::Bounds(const config::Settings& settings, const plan::DataFacts& data, const machine::Placement& placement)
    : settings_(settings), data_(data), optimizer_(shape::shape_of(settings.optimizer.name)), placement_(placement), rates_(fastest(placement)) {
  trained_ = {config::trained_segments(settings), settings.lora, settings.train.seed, settings.train.loss};
  segments_ = shape::segment_count(settings.model);
  const auto& segments = trained_.segments;
  trains_ = std::find(segments.begin(), segments.end(), false) == segments.end() && trained_.lora.rank == 0;
  for (int host = 0, rank = 0; host < placement.hosts(); rank += placement.ranks_on(host), ++host)
    available_ = std::max(available_, placement.memory_of(rank));
  program_ = placement.kind_of_rank(0).program_bytes;
  for (int host = 0; host < placement.hosts(); ++host)
    program_ = std::min(program_, placement.kind_of(host).program_bytes);
  accelerators_ = !placement.kind_of_rank(0).computes_on_cores();
}

const Bounds::Microbatches& Bounds::microbatches(const Layout& l) {
  return remembered(&microbatches_, {l.dp, l.cp, l.micro, l.zero, l.schedule}, [&] {
    config::Resolved resolved;
    resolved.settings = settings_;
    resolved.row_unit = accelerators_ ? shape::gpu_row_unit : 1;
    resolved.settings.parallel.dp = l.dp;
    resolved.settings.parallel.cp = l.cp;
    resolved.settings.parallel.zero = l.zero;
    resolved.settings.parallel.schedule = l.schedule;
    resolved.batch.global = l.global;
    resolved.batch = config::with_micro(resolved.batch, l.micro, l.dp);
    resolved.batch.seq_len = settings_.batch.seq_len;
    resolved.batch.tokens_per_microbatch = l.tokens;
    const plan::Job job = plan::training_job(resolved, data_);
    const std::int64_t of_rank = job.resolved.batch.microbatches_per_rank;
    return Microbatches{job.usual_rows({}), job.largest_rows({}), of_rank, of_rank * job.room};
  });
}

PassShape Bounds::pass_shape(const Layout& l, const shape::MicrobatchRows& rows) const {
  shape::MicrobatchShape microbatch;
  microbatch.rows = rows;
  microbatch.share = {0, l.tp};
  microbatch.sequence =
      settings_.parallel.sequence_parallel && l.tp > 1 ? shape::SequenceParallel::on : shape::SequenceParallel::off;
  microbatch.precision = l.precision;
  microbatch.by = accelerators_ ? shape::ComputedBy::gpu : shape::ComputedBy::cores;
  const auto saved =
      l.recompute == config::Recompute::selective ? shape::SavedActivations::selective : shape::SavedActivations::all;
  return {settings_.model, microbatch, l.cp, saved, trained_};
}

Bounds::Key Bounds::key_of(const Layout& l) {
  return {l.tp, l.cp, l.micro, l.precision, l.recompute == config::Recompute::selective};
}

const ModelSeconds& Bounds::seconds(const Layout& l) {
  return remembered(&seconds_, key_of(l), [&] {
    const GroupLinks links({placement_.world() / (l.tp * l.cp), 1, l.tp, l.cp}, placement_);
    return model_seconds(pass_shape(l, microbatches(l).usual), rates_, links.tensor(), links.context());
  });
}

const shape::SavedBytes& Bounds::saved(const Layout& l) {
  return remembered(&saved_, key_of(l), [&] {
    const PassShape shape = pass_shape(l, microbatches(l).largest);
    return shape::segment_saved_bytes(settings_.model, shape.microbatch, shape.saved, trained_);
  });
}

const Bounds::Elements& Bounds::elements(int tp) {
  return remembered(&elements_, tp, [&] {
    const auto of = [&](int segment) { return shape::segment_layout(settings_.model, segment, {0, tp}).elements; };
    Elements e{of(0), std::numeric_limits<std::int64_t>::max(), of(segments_ - 1), 0};
    for (const int segment : shape::BlockKinds(settings_.model).first) e.block = std::min(e.block, of(segment));
    if (settings_.model.tie_embeddings) e.table = shape::tied_layout(settings_.model, {0, tp}).elements;
    return e;
  });
}

const std::vector<Bounds::RankStages>& Bounds::stages(int pp, int virtual_stages) {
  const std::pair key(pp, virtual_stages);
  const auto found = stages_.find(key);
  if (found != stages_.end()) return found->second;
  const auto ranges = plan::partition_by_cost(
      shape::segment_costs(settings_.model, settings_.batch.seq_len, trained_), pp * virtual_stages);
  const auto blocks = [&](const auto& range) {
    return std::min(range.second, segments_ - 1) - std::max(range.first, 1);
  };
  std::vector<RankStages> ranks(static_cast<std::size_t>(pp));
  int before = 0;
  for (std::size_t s = 0; s < ranges.size(); ++s) {
    RankStages& rank = ranks[s % ranks.size()];
    if (s < ranks.size()) rank.blocks_before = before;
    before += blocks(ranges[s]);
    rank.blocks += blocks(ranges[s]);
    rank.embedding = rank.embedding || s == 0;
    rank.head = rank.head || s + 1 == ranges.size();
  }
  return stages_.emplace(key, std::move(ranks)).first->second;
}

// As plan::Job has it.
shape::SumShape Bounds::sum_of(const Layout& l, int uses) {
  shape::SumShape sum;
  sum.place = {l.dp, l.cp, 0, 0};
  sum.shares.assign(static_cast<std::size_t>(l.dp), microbatches(l).in_program);
  if (l.zero >= 2 && l.replicas() > 1) sum.reduction = shape::Reduction::each_leaf;
  if (l.zero == 0) sum.result = shape::Result::whole;
  sum.addition = plan::addition_of(settings_.parallel.reproducible);
  if (settings_.comm.backend == config::Backend::nccl)
    sum.travel = shape::travel_between_devices(sum, mesh::replicas_on_each_host(l, placement_.ranks_on(0)));
  sum.uses = uses;
  return sum;
}

std::int64_t Bounds::elements_of(const Layout& l, const RankStages& rank) {
  const Elements& e = elements(l.tp);
  std::int64_t sum = rank.blocks * e.block;
  if (rank.embedding) sum += e.embedding;
  if (rank.head) sum += e.head;
  if (rank.head && !rank.embedding) sum += e.table;
  return sum;
}

double Bounds::sent_bytes(const Layout& l, std::int64_t elements) {
  const shape::SumShape sum = sum_of(l, 1);
  const std::int64_t others = std::max<std::int64_t>(0, elements - elements / l.replicas() - rounded_off);
  return sum.shares_floats(0) ? 4 * real(others) : 8 * real(shape::message_words(sum.travel, others));
}

double Bounds::replica_bytes_per_second(const Layout& l) {
  if (l.replicas() == 1) return 1;
  return remembered(&replica_rates_, {l.dp, l.pp, l.tp, l.cp},
                    [&] { return GroupLinks(l, placement_).replicas().bytes_per_second; });
}

double Bounds::step_seconds(const Layout& l) {
  const ModelSeconds& model = seconds(l);
  const Elements& e = elements(l.tp);
  const double m = real(microbatches(l).of_rank);
  const int replicas = l.replicas();
  const double replica_rate = replica_bytes_per_second(l);
  const shape::SumShape sum = sum_of(l, 1);
  const auto leaf = [&](std::int64_t elements) { return leaf_seconds(elements, sum, rates_); };
  const double leaf_block = leaf(e.block), leaf_embedding = leaf(e.embedding), leaf_head = leaf(e.head);
  const bool halves = l.schedule == config::Schedule::zb_h1;
  double forward_block = std::numeric_limits<double>::infinity(), backward_block = forward_block;  // at least
  for (const SegmentSeconds& block : model.blocks) {
    forward_block = std::min(forward_block, block.forward.all());
    backward_block = std::min(backward_block, trains_ ? block.input.all() + block.weight.all() + leaf_block : 0);
  }
  double pipeline = 0, behind = 0;
  for (const RankStages& rank : stages(l.pp, l.virtual_stages)) {
    const double blocks = rank.blocks;
    const double forward = blocks * forward_block + (rank.embedding ? model.embedding.forward.all() : 0) +
                           (rank.head ? model.head.forward.all() : 0);
    const double backward =
        blocks * backward_block +
        (rank.embedding && trains_ ? model.embedding.input.all() + model.embedding.weight.all() + leaf_embedding : 0) +
        (rank.head && trains_ ? model.head.input.all() + model.head.weight.all() + leaf_head : 0);
    double again = 0;
    if (l.recompute == config::Recompute::full && m > 1 && trains_)
      again = forward - (rank.head ? model.head.forward.all() : 0);
    const double begin = rank.blocks_before * forward_block + (rank.embedding ? 0 : model.embedding.forward.all());
    const double own = m * (forward + backward + again);
    const double back = halves ? 0 : rank.blocks_before * backward_block;
    raise(&pipeline, begin + own + back);
    const std::int64_t held = elements_of(l, rank);
    if (replicas > 1 && trains_) {
      const double reduce = sent_bytes(l, held) / replica_rate;
      const double whole = real(std::max<std::int64_t>(0, held - held / replicas - rounded_off));
      if (l.zero <= 1) {
        const double gather = l.zero == 0 ? 4 * whole / replica_rate : 0;
        // With interleaved stages the last microbatch's backwards are mixed with those of its group.
        const double last = (backward + again) * (l.schedule == config::Schedule::interleaved ? l.pp : 1);
        raise(&pipeline, begin + std::max(0.0, own - last) + reduce + gather);
      } else {
        raise(&pipeline, m * reduce);
      }
    }
    const double kept = l.zero == 0 ? real(held) : std::max(0.0, real(held) / replicas - real(rounded_off));
    raise(&behind, trains_ ? real(optimizer_.update_bytes(config::bytes_of(l.precision))) * kept / rates_.stream_bytes_per_second : 0);
  }
  return pipeline + behind;
}

std::int64_t Bounds::memory_bytes(const Layout& l) {
  const shape::SavedBytes& bytes = saved(l);
  const std::int64_t element = config::bytes_of(l.precision), R = l.replicas(), m = microbatches(l).of_rank;
  const bool state_here = l.offload == config::Offload::none || (l.offload == config::Offload::host && !accelerators_);
  const shape::SumShape sum = sum_of(l, 1);
  const PassShape shape = pass_shape(l, microbatches(l).largest);
  const std::int64_t boundary = element * shape.microbatch.rows.M * settings_.model.hidden /
                                (shape.microbatch.sequence == shape::SequenceParallel::on ? l.tp : 1);
  const std::int64_t block_bytes = *std::min_element(bytes.whole.begin() + 1, bytes.whole.end() - 1);
  std::int64_t most = 0;
  int pp_rank = 0;
  for (const RankStages& rank : stages(l.pp, l.virtual_stages)) {
    const std::int64_t held = elements_of(l, rank), own = std::max<std::int64_t>(0, held / R - rounded_off);
    std::int64_t lasting = element * (l.zero == 3 ? own : held);
    if (trains_ && state_here) lasting += optimizer_.bytes(element) * (l.zero >= 1 ? own : held);
    // A rank's only leaf goes to its replicas piece by piece.
    const std::int64_t sum_bytes = sum.own_leaves() > 1 && !(l.zero >= 2 ? sum.in_floats() : sum.adds_in_floats(0)) ? 8 : R == 1 ? 4 : 0;
    const std::int64_t sums = trains_ ? sum_bytes * (l.zero >= 2 ? own : held) : 0;
    // One stage's microbatch: full recomputation keeps the input of each segment, and one whole segment in its backward.
    const bool full = l.recompute == config::Recompute::full;
    const std::int64_t of_blocks = rank.blocks / l.virtual_stages * (full ? boundary : block_bytes);
    std::int64_t in_flight = 1;
    if (l.schedule == config::Schedule::gpipe) in_flight = m;
    if (l.schedule == config::Schedule::one_f_one_b || l.schedule == config::Schedule::zb_h1)
      in_flight = std::min<std::int64_t>(m, l.pp - pp_rank);
    if (l.schedule == config::Schedule::interleaved) in_flight = forwards_before_backwards(l, m, pp_rank);
    std::int64_t activations = in_flight * of_blocks;
    if (full && rank.blocks > 0) activations += std::max<std::int64_t>(0, block_bytes - boundary);
    // The head's backward comes while all blocks below are in flight.
    if (rank.head && l.virtual_stages == 1)
      activations = std::max(activations, in_flight * of_blocks + bytes.whole.back());
    if (!trains_) activations = 0;
    // Once every stage's first backward has ended there are sums while as many are in flight as before.
    const bool both = l.virtual_stages == 1 ? m > in_flight
                                            : m / l.pp * l.pp * l.virtual_stages > in_flight + l.virtual_stages * l.pp;
    // In a backward: a block's leaf where it is sent whole, its parameters where they were gathered.
    std::int64_t passing = 0;
    if (trains_ && R > 1 && l.zero >= 2 && rank.blocks > 0) passing += 4 * elements(l.tp).block;
    if (R > 1 && l.zero == 3 && rank.blocks > 0) passing += element * (elements(l.tp).block - elements(l.tp).block / R);
    const std::int64_t in_backward = passing + (both ? sums + (in_flight - 1) * of_blocks : 0);
    // Interleaved stages may end one after the other, and a stage that has ended holds a part of its sum.
    const std::int64_t ended = l.virtual_stages == 1 ? sums : std::min(sums, 4 * (l.zero >= 1 ? own : held));
    const std::int64_t in_forward = both ? sums + activations : std::max(ended, activations);
    most = std::max(most, lasting + std::max(in_forward, in_backward));
    ++pp_rank;
  }
  return most + program_;
}

}  // namespace troika::planner
