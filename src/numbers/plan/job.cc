#include "plan/job.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/say.h"
#include "config/batch.h"
#include "config/lora.h"
#include "shape/adapter.h"

namespace troika::plan {
namespace {

// The settings with the vocabulary written in.
config::Resolved with_vocabulary(config::Resolved resolved, std::int64_t tokenizer_vocab) {
  config::ModelSettings& model = resolved.settings.model;
  if (model.vocab == 0) model.vocab = shape::padded_vocabulary(tokenizer_vocab);
  if (model.vocab < tokenizer_vocab) {
    throw base::ConfigError(model.path.empty()
                                ? base::say("model.vocab is {}, but the tokenizer has {} ids; use --model.vocab {} or more", model.vocab, tokenizer_vocab, tokenizer_vocab)
                                : base::say("the model in '{0}' has a vocabulary of {1}, but the tokenizer '{2}' has {3} ids: give --data.tokenizer the model's own, or remove the tokens added to it", model.path, model.vocab,
                                            resolved.settings.data.tokenizer, tokenizer_vocab));
  }
  if (model.vocab < resolved.settings.parallel.tp) {
    throw base::ConfigError(base::say("parallel.tp {} exceeds the vocabulary of {}: each rank needs a part of it", resolved.settings.parallel.tp, model.vocab));
  }
  return resolved;
}

std::int64_t steps_of(const config::TrainSettings& train, std::int64_t samples, std::int64_t global_batch) {
  if (train.steps > 0) return train.steps;
  const double in_epochs = train.epochs * static_cast<double>(samples) / static_cast<double>(global_batch);
  return std::max<std::int64_t>(static_cast<std::int64_t>(in_epochs), 1);
}

std::int64_t warmup_of(const config::OptimizerSettings& optimizer, std::int64_t steps) {
  const std::int64_t warmup =
      optimizer.warmup_steps > 0
          ? optimizer.warmup_steps
          : static_cast<std::int64_t>(std::ceil(optimizer.warmup_ratio * static_cast<double>(steps)));
  if (warmup <= steps) return warmup;
  throw base::ConfigError(base::say("optimizer.warmup_steps is {}, more than the {} of this run", warmup, base::counted_text(steps, "step")));
}

// The last steps of wsd, over which the rate falls.
std::int64_t decay_of(const config::OptimizerSettings& optimizer, std::int64_t steps) {
  if (optimizer.lr_schedule != config::LrSchedule::wsd) return optimizer.decay_steps;
  const std::int64_t decay =
      optimizer.decay_steps > 0
          ? optimizer.decay_steps
          : static_cast<std::int64_t>(std::ceil(optimizer.decay_ratio * static_cast<double>(steps)));
  if (optimizer.warmup_steps + decay <= steps) return decay;
  throw base::ConfigError(base::say("lr_schedule wsd: {} steps of warm-up and {} of decay exceed the {} of this run; set optimizer.decay_steps to {} or less", optimizer.warmup_steps, decay, base::counted_text(steps, "step"),
                                    steps - optimizer.warmup_steps));
}

}  // namespace

mesh::Shape mesh_of(const config::ParallelSettings& p) {
  return {static_cast<int>(p.dp), static_cast<int>(p.pp), static_cast<int>(p.tp), static_cast<int>(p.cp)};
}

std::vector<shape::ParameterInfo> Job::trained_parameters() const {
  std::vector<shape::ParameterInfo> all;
  for (int segment = 0; segment < shape::segment_count(model()); ++segment) {
    const auto add = [&all](const std::vector<shape::ParameterInfo>& infos) {
      all.insert(all.end(), infos.begin(), infos.end());
    };
    if (trained.own(segment)) add(shape::segment_parameters(model(), segment));
    add(shape::adapter_parameters(model(), trained.lora, segment));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

bool Job::freezes() const { return std::count(trained.segments.begin(), trained.segments.end(), false) > 0; }

shape::SavedActivations Job::saved_activations() const {
  return settings().parallel.recompute == config::Recompute::selective ? shape::SavedActivations::selective
                                                                       : shape::SavedActivations::all;
}

shape::StatePlace Job::state_place() const {
  using Kind = shape::StatePlace::Kind;
  const auto& p = settings().parallel;
  const std::string folder = p.offload_folder.empty() ? settings().train.out + "/offload" : p.offload_folder;
  if (p.offload == config::Offload::none) return {Kind::device, folder};
  return {p.offload == config::Offload::file ? Kind::file : Kind::host, folder};
}

shape::SequenceParallel Job::sequence_parallel() const {
  const bool on = settings().parallel.sequence_parallel && shape.tp > 1;
  return on ? shape::SequenceParallel::on : shape::SequenceParallel::off;
}

shape::Addition addition_of(config::Reproducible promise) {
  if (promise == config::Reproducible::off) return shape::Addition::any_order;
  return config::adds_in_floats(promise) ? shape::Addition::floats : shape::Addition::integers;
}

shape::SumShape Job::sum_shape(const mesh::Coordinate& at) const {
  shape::SumShape sum;
  sum.place = {shape.dp, shape.cp, at.dp, at.cp};
  sum.shares = settings().parallel.shares;
  if (sum.shares.empty()) sum.shares.assign(static_cast<std::size_t>(shape.dp), resolved.batch.microbatches / shape.dp);
  for (std::int64_t& share : sum.shares) share *= room;
  const auto& p = settings().parallel;
  if (p.zero >= 2 && sum.place.count() > 1) sum.reduction = shape::Reduction::each_leaf;
  if (p.zero == 0) sum.result = shape::Result::whole;
  sum.addition = addition_of(p.reproducible);
  if (settings().comm.backend == config::Backend::nccl)
    sum.travel = shape::travel_between_devices(sum, mesh::replicas_on_each_host(shape, resolved.ranks_per_host));
  // In a file's program replicas may wait for it in unlike places.
  if (!p.overlap && p.schedule_file.empty()) sum.receives = shape::Receives::in_turn;
  return sum;
}

int room_of_evaluation(const Job& job) { return job.sizes.even_evaluated || job.shape.dp == 1 ? 1 : 2; }

// Uneven microbatches are distributed by what they cost, and a rank with long ones gets fewer (distribute). Where each microbatch's
// gradients are exchanged, all ranks have equally many; GPipe holds all that its program has.
static int room_of_training(const Job& job) {
  const config::ParallelSettings& p = job.settings().parallel;
  return p.zero >= 2 || p.schedule == config::Schedule::gpipe || job.sizes.even || job.shape.dp == 1 ? 1 : 2;
}

// A device computes logits of all rows, so that its products repeat.
static bool counts_loss_rows(const Job& job) { return job.resolved.row_unit == 1; }

shape::MicrobatchRows Job::largest_rows(const mesh::Coordinate& at) const {
  const std::int64_t unit = resolved.row_unit;
  const std::int64_t M = (sizes.most_rows.at(static_cast<std::size_t>(at.cp)) + unit - 1) / unit * unit;
  const auto longest = shape::sequence_chunks(sizes.longest, at.cp, shape.cp).count();
  shape::MicrobatchRows rows{M, longest, static_cast<double>(M) * static_cast<double>(longest)};
  if (counts_loss_rows(*this)) rows.with_loss = std::min(M, sizes.most_with_loss);
  return rows;
}

shape::MicrobatchRows Job::usual_rows(const mesh::Coordinate& at) const {
  if (!data.sizes) return largest_rows(at);
  const double cp = shape.cp, filling = static_cast<double>(resolved.row_unit - 1) / 2;  // on average
  const double M = std::max(1.0, std::round(sizes.positions / cp + filling));
  shape::MicrobatchRows rows{static_cast<std::int64_t>(M), largest_rows(at).longest, sizes.squares / cp / cp};
  if (counts_loss_rows(*this)) rows.with_loss = std::min(rows.M, static_cast<std::int64_t>(std::ceil(sizes.with_loss / cp)));
  return rows;
}

std::vector<shape::Sequence> Job::largest_microbatch() const {
  std::int64_t left = 0;
  for (const std::int64_t rows : sizes.most_rows) left += rows;
  std::vector<shape::Sequence> sequences;
  for (; left > 0; left -= sequences.back().length)
    sequences.push_back({std::min(left, sizes.longest), static_cast<std::int64_t>(sequences.size()), 0});
  return sequences;
}

std::int64_t Job::rows(const mesh::Coordinate& at) const {
  return shape::rows_between_operations(largest_rows(at).M, tensor_share(at), sequence_parallel()).count;
}

Job training_job(const config::Resolved& resolved, const DataFacts& data) {
  Job job;
  job.resolved = with_vocabulary(resolved, data.vocab);
  job.data = data;
  job.shape = mesh_of(resolved.settings.parallel);
  config::Settings& settings = job.resolved.settings;
  job.epochs_decide = settings.train.steps == 0;
  job.steps = settings.train.steps = steps_of(settings.train, data.samples, resolved.batch.global);
  settings.optimizer.warmup_steps = warmup_of(settings.optimizer, job.steps);
  settings.optimizer.decay_steps = decay_of(settings.optimizer, job.steps);
  config::Batch& batch = job.resolved.batch;
  job.sizes = data.sizes ? data.sizes(batch, job.shape.cp, job.steps) : full_sizes(batch, job.shape.cp);
  if (batch.tokens_per_microbatch > 0) {
    batch.microbatches_per_rank = config::divide_up(job.sizes.in_step, job.shape.dp);
    batch.microbatches = batch.microbatches_per_rank * job.shape.dp;
  }
  job.room = room_of_training(job);
  job.trained = {config::trained_segments(settings), settings.lora, settings.train.seed, settings.train.loss};
  return job;
}

Job evaluation_job(const config::Resolved& resolved, const DataFacts& data) {
  Job job;
  job.resolved = with_vocabulary(resolved, data.vocab);
  job.data = data;
  job.task = schedule::Task::evaluation;
  job.shape = mesh_of(resolved.settings.parallel);
  job.sizes = data.sizes ? data.sizes(job.resolved.batch, job.shape.cp, 0) : full_sizes(job.resolved.batch, job.shape.cp);
  job.room = room_of_evaluation(job);
  job.trained.segments.assign(static_cast<std::size_t>(shape::segment_count(job.model())), false);
  return job;
}

}  // namespace troika::plan
