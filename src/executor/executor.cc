#include "executor/executor.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "executor/message_tag.h"
#include "executor/step_facts.h"
#include "tensor/device.h"

namespace troika::executor {
using schedule::Instruction;
using schedule::Kind;

const std::map<Kind, Executor::Handler>& Executor::handlers() {
  static const std::map<Kind, Handler> table{
      {Kind::load, &Executor::load},
      {Kind::fwd, &Executor::forward},
      {Kind::refwd, &Executor::forward_again},
      {Kind::bwd, &Executor::backward},
      {Kind::bwd_input, &Executor::backward_input},
      {Kind::bwd_weight, &Executor::backward_weight},
      {Kind::send_act, &Executor::send_activation},
      {Kind::recv_act, &Executor::receive_activation},
      {Kind::send_grad, &Executor::send_gradient},
      {Kind::recv_grad, &Executor::receive_gradient},
      {Kind::reduce_grads, &Executor::reduce_gradients},
      {Kind::reduce_tied, &Executor::reduce_tied},
      {Kind::norm, &Executor::norm},
      {Kind::step, &Executor::step},
  };
  return table;
}

Executor::Executor(const schedule::Program& program, Place place, Channels channels,
                   std::map<int, std::unique_ptr<StageUnit>>& units, Border border, TokenSource source,
                   std::vector<std::string> parameter_names, tensor::Ledger& ledger, Observer& observer)
    : program_(program),
      instructions_(program.lanes.at(static_cast<std::size_t>(program.lane(place.pp_rank, place.dp_rank)))),
      place_(place),
      channels_(channels),
      units_(units),
      border_(border),
      source_(std::move(source)),
      parameter_names_(std::move(parameter_names)),
      ledger_(ledger),
      observer_(observer) {
  for (const Instruction& i : instructions_) {
    if (handlers().count(i.kind) == 0) throw base::BugError("the executor has no handler for " + to_text(i));
    if (i.kind == Kind::refwd) recomputed_.insert({i.microbatch, i.stage});
  }
}

StepResult Executor::run(const StepSettings& settings) {
  settings_ = settings;
  result_ = {};
  for (const Instruction& instruction : instructions_) {
    try {
      execute(instruction);
    } catch (base::Error& error) {
      error.add_context(fmt::format("while running {} of step {} on rank {}", to_text(instruction), settings.step,
                                    place_.world_rank));
      throw;
    }
  }
  drop_step_state();
  return result_;
}

void Executor::execute(const Instruction& instruction) {
  observer_.begins(settings_.step, instruction);
  const double begin = base::monotonic_seconds();
  try {
    (this->*handlers().at(instruction.kind))(instruction);
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (text.find("allocate memory") != std::string::npos || text.find("out of memory") != std::string::npos) {
      throw base::ConfigError("out of memory: " + text +
                              "; use a smaller --micro-batch-size or --seq-len, fewer layers, or more stages");
    }
    throw base::BugError("libtorch: " + text);
  }
  observer_.ended(instruction, begin, base::monotonic_seconds());
}

void Executor::load(const Instruction& i) { tokens_[i.microbatch] = source_(settings_.step, i.microbatch); }

// A stage in the middle sees no tokens, only their shape.
const model::Tokens& Executor::tokens(int microbatch) {
  const auto found = tokens_.find(microbatch);
  if (found != tokens_.end()) return found->second;
  model::Tokens shape_only;
  shape_only.B = border_.B;
  shape_only.T = border_.T;
  return tokens_[microbatch] = shape_only;
}

void Executor::forward(const Instruction& i) {
  Flight& flight = flights_[{i.microbatch, i.stage}];
  if (i.stage > 0) flight.x_MD = received({Kind::recv_act, i.microbatch, i.stage});
  const bool again = recomputed_.count({i.microbatch, i.stage}) > 0;
  const auto keep = again ? model::Keep::nothing : model::Keep::for_backward;
  flight.result = unit(i.stage).stage.forward(flight.x_MD, tokens(i.microbatch), keep);
  if (!again) flight.x_MD.reset();
  flight.y_MD = std::move(flight.result.y_MD);
  if (i.stage + 1 == program_.stages()) losses_[i.microbatch] = flight.result.loss;
  book(flight);
}

void Executor::forward_again(const Instruction& i) {
  Flight& flight = flights_.at({i.microbatch, i.stage});
  flight.result = unit(i.stage).stage.forward(flight.x_MD, tokens(i.microbatch), model::Keep::for_backward);
  flight.result.y_MD.reset();
  flight.x_MD.reset();
  book(flight);
}

void Executor::backward(const Instruction& i) {
  backward_input(i);
  backward_weight(i);
}

void Executor::backward_input(const Instruction& i) {
  Flight& flight = flights_.at({i.microbatch, i.stage});
  if (i.stage + 1 < program_.stages()) flight.dy_MD = received({Kind::recv_grad, i.microbatch, i.stage});
  flight.dx_MD = unit(i.stage).stage.backward_input(flight.dy_MD, tokens(i.microbatch), flight.result);
  flight.dy_MD.reset();
  book(flight);
}

void Executor::backward_weight(const Instruction& i) {
  Flight& flight = flights_.at({i.microbatch, i.stage});
  StageUnit& u = unit(i.stage);
  u.stage.backward_weight(u.sum.leaf(), tokens(i.microbatch), flight.result);
  u.sum.push(i.microbatch);
  flight.result.saved.clear();
  book(flight);
}

// Keeps the ledger true to what the microbatch holds now.
void Executor::book(Flight& flight) {
  std::int64_t bytes = flight.result.saved_bytes();
  for (const at::Tensor* t : {&flight.x_MD, &flight.y_MD, &flight.dx_MD})
    bytes += t->defined() ? static_cast<std::int64_t>(t->nbytes()) : 0;
  ledger_.hold(tensor::Use::activations, bytes);
  ledger_.release(tensor::Use::activations, flight.booked_bytes);
  flight.booked_bytes = bytes;
}

void Executor::send_activation(const Instruction& i) {
  Flight& flight = flights_.at({i.microbatch, i.stage});
  start_send(i, flight.y_MD, i.stage + 1);
  flight.y_MD.reset();
  book(flight);
}

void Executor::receive_activation(const Instruction& i) { start_receive(i, i.stage - 1); }

void Executor::send_gradient(const Instruction& i) {
  Flight& flight = flights_.at({i.microbatch, i.stage});
  start_send(i, flight.dx_MD, i.stage - 1);
  flight.dx_MD.reset();
  book(flight);
}

void Executor::receive_gradient(const Instruction& i) { start_receive(i, i.stage + 1); }

void Executor::start_send(const Instruction& i, const at::Tensor& tensor, int to_stage) {
  Message message{i, tensor.contiguous(), {}, base::monotonic_seconds()};
  const int to = program_.pp_rank_of_stage.at(static_cast<std::size_t>(to_stage));
  message.transfer = channels_.pp.send(
      message.tensor, to,
      message_tag(i.kind == Kind::send_act ? Lane::activation : Lane::gradient, i.microbatch, to_stage));
  sends_.push_back(std::move(message));
}

void Executor::start_receive(const Instruction& i, int from_stage) {
  const auto& device = units_.at(i.stage)->stage.parameters().device();
  Message message{i, tensor::empty_float({border_.B * border_.T, border_.D}, device), {}, base::monotonic_seconds()};
  const int from = program_.pp_rank_of_stage.at(static_cast<std::size_t>(from_stage));
  message.transfer = channels_.pp.recv(
      message.tensor, from,
      message_tag(i.kind == Kind::recv_act ? Lane::activation : Lane::gradient, i.microbatch, i.stage));
  receives_[to_text(i)] = std::move(message);
}

at::Tensor Executor::received(const Instruction& i) {
  Message message = std::move(receives_.at(to_text(i)));
  receives_.erase(to_text(i));
  finish(message, i);
  return message.tensor;
}

void Executor::finish(Message& message, const Instruction& waiting) {
  const double begin = base::monotonic_seconds();
  message.transfer.wait();
  const double end = base::monotonic_seconds();
  observer_.waited(waiting, begin, end);
  observer_.transferred(message.instruction, message.begin_seconds, end);
}

void Executor::finish_sends(const Instruction& waiting) {
  for (Message& message : sends_) finish(message, waiting);
  sends_.clear();
}

void Executor::reduce_gradients(const Instruction& i) {
  unit(i.stage).total = unit(i.stage).sum.reduce(channels_.dp, [&](double begin, double end) {
    observer_.waited(i, begin, end);
    observer_.transferred(i, begin, end);
  });
}

// Adds the two uses of the tied embedding: the look-up's gradient plus the head's, in that order.
void Executor::reduce_tied(const Instruction& i) {
  const int last = program_.stages() - 1;
  StageUnit& u = unit(i.stage);
  const model::StageLayout& layout = u.stage.layout();
  const bool holds_head = layout.tied_use >= 0;
  const std::int64_t elements =
      holds_head ? layout.gradient_elements - layout.tied_use : layout.slots.front().info.elements();
  const at::Tensor lookup = u.total.narrow(0, 0, elements);
  if (program_.stages() == 1) {
    lookup.add_(u.total.narrow(0, layout.tied_use, elements));
  } else if (i.stage == last) {
    const at::Tensor head = u.total.narrow(0, layout.tied_use, elements);
    head.copy_(exchange_tied(i, head, 0).add_(head));
  } else {
    lookup.add_(exchange_tied(i, lookup, last));
  }
}

at::Tensor Executor::exchange_tied(const Instruction& i, const at::Tensor& mine, int peer_stage) {
  const int peer = program_.pp_rank_of_stage.at(static_cast<std::size_t>(peer_stage));
  const double begin = base::monotonic_seconds();
  const at::Tensor theirs = at::empty_like(mine), sent = mine.clone();
  comm::Transfer receiving = channels_.pp.recv(theirs, peer, message_tag(Lane::tied, 0, i.stage));
  comm::Transfer sending = channels_.pp.send(sent, peer, message_tag(Lane::tied, 0, peer_stage));
  receiving.wait();
  sending.wait();
  const double end = base::monotonic_seconds();
  observer_.waited(i, begin, end);
  observer_.transferred(i, begin, end);
  return theirs;
}

void Executor::norm(const Instruction& i) {
  finish_sends(i);
  StepFacts facts(program_.microbatches, parameter_names_, channels_.world.size());
  for (const auto& [microbatch, loss] : losses_) facts.set_loss(microbatch, loss);
  facts.set_wish(settings_.wish);
  facts.set_memory(place_.world_rank, ledger_.peak());
  if (place_.dp_rank == 0) {  // the other data-parallel ranks hold the same sums
    for (const auto& [stage, u] : units_)
      facts.set_squares(optimizer::squares_by_name(u->optimizer.parameters(), u->total));
  }
  const double begin = base::monotonic_seconds();
  facts.sum_over(channels_.world);
  observer_.waited(i, begin, base::monotonic_seconds());

  result_.tokens = facts.tokens();
  result_.wishes = facts.wishes();
  result_.memory_bytes = facts.largest_memory();
  const double tokens = static_cast<double>(std::max<std::int64_t>(result_.tokens, 1));
  result_.loss = facts.loss_sum() / tokens;
  const double factor = static_cast<double>(border_.B * border_.T) / tokens;
  result_.gradient_norm = facts.gradient_norm() * factor;
  const bool clip = settings_.clip_norm > 0 && result_.gradient_norm > settings_.clip_norm;
  gradient_scale_ = clip ? factor * (settings_.clip_norm / result_.gradient_norm) : factor;
}

void Executor::step(const Instruction&) {
  if (!std::isfinite(result_.loss) || !std::isfinite(result_.gradient_norm)) {
    throw base::ConfigError(
        fmt::format("the loss ({}) or the gradient norm ({}) is not a finite number; lower --lr, lengthen "
                    "--warmup-steps or clip harder (--max-grad-norm), and look at the data of this step",
                    result_.loss, result_.gradient_norm));
  }
  for (auto& [stage, u] : units_) {
    u->optimizer.step(u->total, settings_.lr, gradient_scale_, settings_.step);
    u->total.reset();
    u->sum.reset();
  }
}

void Executor::drop_step_state() {
  for (auto& [key, flight] : flights_) ledger_.release(tensor::Use::activations, flight.booked_bytes);
  flights_.clear();
  tokens_.clear();
  losses_.clear();
}

}  // namespace troika::executor
