#include "executor/executor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "schedule/instruction/placement.h"
#include "tensor/operations.h"

namespace troika::executor {
using schedule::Kind;
using sharding::GradientSum;

const std::map<Kind, Executor::Handler>& Executor::handlers() {
  static const std::map<Kind, Handler> table{
      {Kind::load, &Executor::load},
      {Kind::fwd, &Executor::forward},
      {Kind::refwd, &Executor::recompute},
      {Kind::bwd, &Executor::backward},
      {Kind::bwd_input, &Executor::backward_input},
      {Kind::bwd_weight, &Executor::backward_weight},
      {Kind::send_act, &Executor::send_activation},
      {Kind::recv_act, &Executor::receive},
      {Kind::send_grad, &Executor::send_gradient},
      {Kind::recv_grad, &Executor::receive},
      {Kind::gather_params, &Executor::gather_parameters},
      {Kind::free_params, &Executor::free_parameters},
      {Kind::reduce_grads, &Executor::reduce_gradients},
      {Kind::gather_grads, &Executor::gather_gradients},
      {Kind::reduce_tied, &Executor::reduce_tied},
      {Kind::fetch, &Executor::fetch},
      {Kind::offload, &Executor::offload},
      {Kind::norm, &Executor::norm},
      {Kind::step, &Executor::step},
      {Kind::loss, &Executor::loss},
  };
  return table;
}

Executor::Executor(const schedule::Program& program, Setup setup, Channels channels, const Units& units,
                   tensor::Ledger& ledger, Observer& observer)
    : program_(program),
      instructions_(
          program.ranks.at(static_cast<std::size_t>(program.grid_rank(setup.place.at.pp, setup.place.at.dp)))),
      setup_(std::move(setup)),
      channels_(channels),
      units_(units),
      ledger_(ledger),
      observer_(observer),
      integrity_(
          setup_.checksums == optimizer::Checksums::off
              ? nullptr
              : std::make_unique<Integrity>(setup_.place.shape, setup_.place.world_rank, units, channels.replicas)),
      audit_(program, setup_.place.shape, setup_.place.world_rank, units, channels.world),
      messages_(program, program.grid_rank(setup_.place.at.pp, setup_.place.at.dp), channels.pp, ledger, observer,
                integrity_.get(), audit_),
      replicas_(program, channels.replicas, units, observer),
      in_flight_(program, instructions_, units, replicas_, {setup_.boundary, setup_.activations, [this](int microbatch) { return shape_of(microbatch); }}, ledger) {
  for (const Instruction& i : instructions_)
    if (handlers().count(i.kind) == 0) throw base::BugError("the executor has no handler for " + to_text(i));
}

StepResult Executor::run(const StepSettings& settings) {
  settings_ = settings;
  result_ = {};
  listen_to_groups();
  if (!program_.evaluates()) begin_sums();
  if (integrity_ != nullptr) integrity_->begin_step(settings.step);
  audit_.begin(settings.pass, settings.step, settings.microbatches);
  in_flight_.begin_step({settings.loss_scale, program_.evaluates() ? 0 : settings.step});
  for (const Instruction& instruction : instructions_) {
    try {
      execute(instruction);
    } catch (base::Error& error) {
      error.add_context(base::say("while running {} of step {} on rank {}", to_text(instruction), settings.step,
                                    setup_.place.world_rank));
      throw;
    }
  }
  return result_;
}

void Executor::execute(const Instruction& instruction) {
  current_ = &instruction;
  observer_.begins(settings_.step, instruction);
  const double begin = base::monotonic_seconds();
  static constexpr base::Phrase less(
      "use a smaller --micro-batch-size or --seq-len, --recompute full, --zero 3, fewer layers, or more stages");
  try {
    if (is_absent(instruction)) {
      in_flight_.leave_out(instruction);
    } else {
      (this->*handlers().at(instruction.kind))(instruction);
    }
    if (&instruction == &instructions_.back()) finish();
  } catch (const tensor::OutOfMemory& error) {
    throw base::ConfigError(base::say("out of memory: {}; {}", error.text(), base::say(less)),
                            base::Cause::out_of_memory);
  } catch (const std::bad_alloc&) {
    throw base::ConfigError(base::say("out of memory; {}", base::say(less)), base::Cause::out_of_memory);
  }
  observer_.ended(instruction, begin, base::monotonic_seconds());
}

// At every run, because the groups may serve another executor in between.
void Executor::listen_to_groups() {
  const sharding::OnWait exchanged(
      [this](double begin, double end) { observer_.exchanged_inside(*current_, begin, end); },
      [this] { observer_.stands(); });
  if (setup_.tensor_group != nullptr) setup_.tensor_group->set_on_wait(exchanged);
  if (setup_.context_group != nullptr) setup_.context_group->set_on_wait(exchanged);
}

// About a microbatch that the step does not have, so that nobody computes or sends it. Replicas may have theirs: gradients are
// exchanged.
bool Executor::is_absent(const Instruction& i) const {
  return i.microbatch >= 0 && audit_.of_step(i.microbatch) < 0 &&
         schedule::traits(i.kind).payload != schedule::Payload::segment_gradients;
}

model::Tokens Executor::shape_of(int microbatch) const { return setup_.shape(settings_.step, audit_.of_step(microbatch)); }

void Executor::load(const Instruction& i) {
  in_flight_.load(i.microbatch, setup_.load(settings_.step, audit_.of_step(i.microbatch)));
}

tensor::Tensor Executor::stage_input(const Instruction& i) {
  if (i.stage == 0) return {};
  if (schedule::crosses_ranks(program_, i.stage - 1)) return messages_.take(Kind::recv_act, i);
  return in_flight_.take_output({Kind::send_act, i.microbatch, i.stage - 1});
}

tensor::Tensor Executor::output_gradient(const Instruction& i) {
  if (i.stage + 1 == program_.stages()) return {};
  if (schedule::crosses_ranks(program_, i.stage)) return messages_.take(Kind::recv_grad, i);
  return in_flight_.take_input_gradient({Kind::send_grad, i.microbatch, i.stage + 1});
}

void Executor::forward(const Instruction& i) {
  in_flight_.forward(i, [&] { return stage_input(i); });
}

void Executor::backward(const Instruction& i) {
  in_flight_.backward(i, [&] { return output_gradient(i); });
}

void Executor::backward_input(const Instruction& i) {
  in_flight_.backward_input(i, [&] { return output_gradient(i); });
}

void Executor::receive(const Instruction& i) {
  const auto& device = units_.begin()->second->bucket->sum().device();
  const auto options = tensor::TensorType(setup_.boundary.dtype, device);
  const std::int64_t M = in_flight_.tokens(i.microbatch).M;
  const std::int64_t rows = setup_.tensor_group == nullptr ? M : setup_.tensor_group->rows(M).count;
  messages_.receive(i, tensor::empty({rows, setup_.boundary.D}, options));
}

// Adds the other stage's use of the tied embedding.
void Executor::reduce_tied(const Instruction& i) {
  const bool first = i.stage == 0;
  const SegmentUnit& unit = *units_.at(first ? 0 : program_.segments() - 1);
  replicas_.finish_reductions(unit, i);
  messages_.exchange_tied(i, (first ? unit.bucket : unit.table_copy)->sum(), first ? program_.stages() - 1 : 0);
}

// Exponents are of gradients without the loss scale, the gradients that backward writes have it.
void Executor::begin_sums() {
  int exponent = 0;
  scale_bits_ = std::frexp(settings_.loss_scale, &exponent) > 0.5 ? exponent : exponent - 1;
  for (const auto& [segment, unit] : units_) {
    for (Bucket* bucket : unit->trained()) {
      std::vector<int> of_parts;
      for (const shape::Slot& slot : bucket->layout().slots) {
        const auto found =
            std::lower_bound(setup_.parameter_names.begin(), setup_.parameter_names.end(), slot.info.name);
        const auto index = static_cast<std::size_t>(found - setup_.parameter_names.begin());
        of_parts.push_back(exponent_of(index) + scale_bits_);
      }
      bucket->sum().begin_step(of_parts,
                               settings_.pass == Pass::only ? GradientSum::Bits::unread : GradientSum::Bits::summed);
    }
  }
}

int Executor::exponent_of(std::size_t parameter) const {
  return settings_.exponents.empty() ? optimizer::GradientExponents::first : settings_.exponents.at(parameter);
}

// In the order of note_largest.
static tensor::Tensor largest_of(const Units& units) {
  std::vector<tensor::Tensor> found;
  for (const auto& [segment, unit] : units)
    for (const Bucket* bucket : unit->trained()) found.push_back(bucket->sum().largest());
  return found.empty() ? tensor::empty({0}, tensor::Dtype::int32) : tensor::cat(found);
}

void Executor::check_channels() {
  for (comm::Channel* channel : {&channels_.world, &channels_.pp, &channels_.replicas}) channel->check();
  if (setup_.tensor_group != nullptr) setup_.tensor_group->check();
  if (setup_.context_group != nullptr) setup_.context_group->check();
}

// All that the host must know of what the device has computed in this step: the step waits for it here and nowhere else.
Executor::OwnFacts Executor::read_facts() {
  std::vector<tensor::Tensor> wanted;
  for (const auto& [microbatch, loss_2] : in_flight_.losses()) wanted.push_back(loss_2);
  if (!program_.evaluates()) {
    wanted.push_back(own_squares(units_));
    wanted.push_back(largest_of(units_));
  }
  OwnFacts facts;
  if (!setup_.streams->shares_host_memory()) observer_.awaits_device();
  const double begin = base::monotonic_seconds();
  const std::vector<tensor::Tensor> read = tensor::read_back(*setup_.streams, wanted, [this] { check_channels(); });
  result_.awaited_seconds = base::monotonic_seconds() - begin;
  if (!setup_.streams->shares_host_memory()) observer_.device_is_done();
  auto next = read.begin();
  for (const auto& [microbatch, on_device] : in_flight_.losses()) {
    facts.losses[audit_.of_step(microbatch)] = kernels::read_loss(*next++);
  }
  if (program_.evaluates()) return facts;
  facts.squares = *next++;
  facts.largest = *next++;
  return facts;
}

void Executor::note_largest(const tensor::Tensor& largest, StepFacts* facts) const {
  const std::int32_t* next = largest.data<std::int32_t>();
  for (const auto& [segment, unit] : units_)
    for (const Bucket* bucket : unit->trained())
      for (const shape::Slot& slot : bucket->layout().slots)
        facts->note_largest(slot.info.name, static_cast<kernels::MagnitudeBits>(*next++));
}

void Executor::judge_range(const StepFacts& facts) {
  for (const kernels::MagnitudeBits largest : facts.largest_gradients()) {
    const std::size_t parameter = result_.gradient_exponents.size();
    const bool finite = largest < kernels::infinity_bits;
    const int exponent =
        largest == 0 || !finite ? optimizer::no_gradient : kernels::exponent_above(largest) - scale_bits_;
    result_.finite = result_.finite && finite;
    result_.in_range = result_.in_range && exponent <= exponent_of(parameter);
    result_.gradient_exponents.push_back(exponent);
  }
  if (!result_.finite) result_.gradient_norm = std::numeric_limits<double>::quiet_NaN();
}

void Executor::norm(const Instruction& i) {
  messages_.finish_sends(i);
  replicas_.finish_reductions(i);
  const mesh::Shape& shape = setup_.place.shape;
  const int sums = integrity_ == nullptr ? 0 : Integrity::checksums;
  const int of_audit = settings_.pass == Pass::audited ? RecomputeAudit::checksums : 0;
  StepFacts facts({program_.microbatches, shape.cp, shape.tp, channels_.world.size(), sums + of_audit},
                  setup_.parameter_names);
  const int tp_rank = setup_.place.at.tp;
  const OwnFacts own = read_facts();
  facts.set_squares(tp_rank, gradient_squares(units_, own.squares, channels_.replicas, tp_rank, replicas_.on_wait(i)));
  facts.set_requests(settings_.requests);
  note_largest(own.largest, &facts);
  if (integrity_ != nullptr) integrity_->tell(&facts);
  audit_.observe(own.losses);
  audit_.tell(sums, &facts);
  share_facts(facts, own, i);
  if (integrity_ != nullptr) integrity_->compare(facts);

  result_.requests = facts.requests();
  const double tokens = static_cast<double>(std::max<std::int64_t>(result_.tokens, 1));
  const double factor =
      static_cast<double>(setup_.boundary.loss_rows) / tokens / settings_.loss_scale;
  result_.gradient_norm = facts.gradient_norm() * factor;
  result_.finite = std::isfinite(result_.loss) && std::isfinite(result_.gradient_norm);
  judge_range(facts);
  if (settings_.pass == Pass::audit) audit_.keep(result_.finite);
  audit_.compare(sums, facts, result_.finite);
  const bool clip = settings_.clip_norm > 0 && result_.gradient_norm > settings_.clip_norm;
  gradient_scale_ = clip ? factor * (settings_.clip_norm / result_.gradient_norm) : factor;
  // Here, where a step ends that only reads parameters and state, and not where it begins: so what is saved of the step before
  // goes to the host beside this step's passes.
  if (!settings_.saved.passed()) setup_.streams->wait(tensor::compute_lane, settings_.saved);
}

// Adds what every program tells, and sums over the world.
void Executor::share_facts(StepFacts& facts, const OwnFacts& own, const Instruction& i) {
  const mesh::Coordinate& at = setup_.place.at;
  for (const auto& [microbatch, loss] : own.losses) {
    if (at.tp == 0) facts.set_loss(microbatch, at.cp, loss);  // the others of the tensor group have the same
  }
  facts.set_memory(setup_.place.world_rank, ledger_.peak());
  observer_.stands();
  const double begin = base::monotonic_seconds();
  facts.exchange(channels_.world);
  observer_.waited(i, begin, base::monotonic_seconds());
  result_.tokens = facts.tokens();
  result_.memory_bytes = facts.largest_memory();
  result_.loss = facts.loss_sum() / static_cast<double>(std::max<std::int64_t>(result_.tokens, 1));
}

// The end of an evaluation.
void Executor::loss(const Instruction& i) {
  messages_.finish_sends(i);
  const mesh::Shape& shape = setup_.place.shape;
  StepFacts facts({program_.microbatches, shape.cp, shape.tp, channels_.world.size()}, setup_.parameter_names);
  share_facts(facts, read_facts(), i);
  result_.losses = facts.losses();
}

template <class Visit>
void Executor::each_bucket(const Instruction& i, Visit visit) {
  const schedule::SegmentRange range = schedule::segments_of(program_, i);
  for (int g = range.begin; g < range.end; ++g)
    for (Bucket* bucket : units_.at(g)->trained()) visit(*bucket);
}

void Executor::fetch(const Instruction& i) {
  each_bucket(i, [](Bucket& bucket) { bucket.optimizer().fetch(); });
}

void Executor::offload(const Instruction& i) {
  each_bucket(i, [](Bucket& bucket) { bucket.optimizer().offload(); });
}

void Executor::step(const Instruction& i) {
  each_bucket(i, [&](Bucket& bucket) {
    const tensor::Tensor gradient = replicas_.gradient(bucket, i);
    if (result_.finite && result_.in_range && settings_.pass != Pass::audit) {
      const auto fault = bucket.optimizer().step(gradient, {settings_.lr, gradient_scale_, settings_.update});
      if (fault) integrity_->report(bucket, *fault);
    }
    bucket.sum().reset();
  });
}

void Executor::check_state() const {
  if (integrity_ != nullptr) integrity_->check_state();
}

// The end of a program waits for everything it started.
void Executor::finish() {
  replicas_.await_all_parameters(instructions_.back());
  in_flight_.clear();
}

}  // namespace troika::executor
