#include "executor/in_flight_activations.h"

#include "schedule/instruction/placement.h"

namespace troika::executor {
using schedule::Kind;

InFlightActivations::InFlightActivations(const schedule::Program& program, const std::vector<Instruction>& instructions,
                                         const Units& units, ReplicaTraffic& replicas, Options options, tensor::Ledger& ledger)
    : program_(program),
      units_(units),
      replicas_(replicas),
      options_(std::move(options)),
      ledger_(ledger) {
  for (const Instruction& i : instructions) {
    if (i.kind != Kind::refwd) continue;
    const schedule::SegmentRange range = schedule::segments_of(program, i);
    for (int g = range.begin; g < range.end; ++g) recomputed_.insert({i.microbatch, g});
  }
}

void InFlightActivations::load(int microbatch, model::Tokens tokens) {
  mark(tokens);
  tokens_[microbatch] = std::move(tokens);
}

void InFlightActivations::mark(model::Tokens& tokens) const {
  tokens.loss_scale = step_.loss_scale;
  tokens.loss_rows = options_.boundary.loss_rows;
  tokens.largest_M = options_.boundary.largest_M;
  tokens.step = step_.step;
}

// A stage that loads no tokens sees only their shape.
const model::Tokens& InFlightActivations::tokens(int microbatch) {
  const auto [found, absent] = tokens_.try_emplace(microbatch);
  if (absent) {
    found->second = options_.shape(microbatch);
    mark(found->second);
  }
  return found->second;
}

SegmentUnit& InFlightActivations::ready(int segment, const Instruction& i) {
  SegmentUnit& unit = *units_.at(segment);
  replicas_.await_parameters(unit, i);
  return unit;
}

void InFlightActivations::forward(const Instruction& i, const BoundarySource& boundary_mD) {
  StageActivations& held = held_[{i.microbatch, i.stage}];
  const schedule::SegmentRange range = schedule::segments_of(program_, i);
  for (int g = range.begin; g < range.end; ++g) {
    if (g == program_.first_segment(i.stage)) held.x_mD = boundary_mD();
    forward_segment(i, g, held);
    book(held);
  }
  const bool done = range.end == program_.segments() && program_.evaluates();
  if (done) forget(i);
}

// Tokens too, unless a stage that reads them is still to come on this rank.
void InFlightActivations::forget(const Instruction& i) {
  ledger_.release(tensor::MemoryUse::activations, held_.at({i.microbatch, i.stage}).booked_bytes);
  held_.erase({i.microbatch, i.stage});
  const auto& ranks = program_.pp_rank_of_stage;
  for (int later = i.stage + 1; later < program_.stages(); ++later) {
    const bool here = ranks[static_cast<std::size_t>(later)] == ranks[static_cast<std::size_t>(i.stage)];
    if (here && schedule::reads_tokens(program_, later)) return;
  }
  tokens_.erase(i.microbatch);
}

void InFlightActivations::forward_segment(const Instruction& i, int segment, StageActivations& held) {
  const SegmentUnit& unit = ready(segment, i);
  SegmentActivations& of_segment = held.segments[segment];
  const bool again = recomputed_.count({i.microbatch, segment}) > 0, backward = segment >= program_.first_trained;
  if (again) of_segment.input_mD = held.x_mD;
  model::ForwardResult result =
      unit.segment->forward(unit.parameters(), held.x_mD, tokens(i.microbatch),
                            again || !backward ? shape::SavedActivations::none : options_.activations);
  held.x_mD = std::move(result.y_mD);
  of_segment.saved = std::move(result.saved);
  if (segment + 1 == program_.segments()) losses_[i.microbatch] = result.loss_2;
}

void InFlightActivations::recompute(const Instruction& i) {
  StageActivations& held = held_.at({i.microbatch, i.stage});
  const schedule::SegmentRange range = schedule::segments_of(program_, i);
  for (int g = range.begin; g < range.end; ++g) {
    const SegmentUnit& unit = ready(g, i);
    SegmentActivations& of_segment = held.segments.at(g);
    of_segment.saved =
        unit.segment->forward(unit.parameters(), of_segment.input_mD, tokens(i.microbatch), options_.activations).saved;
    of_segment.input_mD.reset();
  }
  book(held);
}

// Backwards run from the last segment to the first.
template <class Visit>
void InFlightActivations::descend(const Instruction& i, Visit visit) {
  StageActivations& held = held_.at({i.microbatch, i.stage});
  const schedule::SegmentRange range = schedule::segments_of(program_, i);
  for (int g = range.end - 1; g >= range.begin; --g) visit(g, held);
}

void InFlightActivations::backward(const Instruction& i, const BoundarySource& boundary_mD) {
  descend(i, [&](int g, StageActivations& held) {
    input_segment(i, g, held, boundary_mD);
    weight_segment(i, g, held);
  });
}

void InFlightActivations::backward_input(const Instruction& i, const BoundarySource& boundary_mD) {
  descend(i, [&](int g, StageActivations& held) { input_segment(i, g, held, boundary_mD); });
}

void InFlightActivations::backward_weight(const Instruction& i) {
  descend(i, [&](int g, StageActivations& held) { weight_segment(i, g, held); });
}

void InFlightActivations::input_segment(const Instruction& i, int segment, StageActivations& held,
                                        const BoundarySource& boundary_mD) {
  const SegmentUnit& unit = ready(segment, i);
  if (segment + 1 == program_.end_segment(i.stage)) held.dy_mD = boundary_mD();
  SegmentActivations& of_segment = held.segments.at(segment);
  held.dy_mD = unit.segment->backward_input(unit.parameters(), held.dy_mD, tokens(i.microbatch), *of_segment.saved);
  if (segment == program_.first_trained) held.dy_mD.reset();  // nobody reads it
  book(held);
}

void InFlightActivations::weight_segment(const Instruction& i, int segment, StageActivations& held) {
  const SegmentUnit& unit = *units_.at(segment);
  const std::vector<Bucket*> written = unit.written();
  replicas_.finish_leaves(i);
  if (!written.empty())
    unit.segment->backward_weight(unit.leaves(), tokens(i.microbatch), *held.segments.at(segment).saved);
  held.segments.at(segment).saved.reset();
  book(held);
  for (Bucket* bucket : written) bucket->sum().push();
}

void InFlightActivations::leave_out(const Instruction& i) {
  const schedule::Pass passes = schedule::traits(i.kind).passes;
  if (passes == schedule::no_pass) return;
  const schedule::SegmentRange range = schedule::segments_of(program_, i);
  for (int g = range.end - 1; g >= range.begin; --g) {
    const SegmentUnit& unit = ready(g, i);
    if ((passes & schedule::weight_pass) == 0) continue;
    replicas_.finish_leaves(i);
    for (Bucket* bucket : unit.written()) bucket->sum().push_nothing();
  }
}

tensor::Tensor InFlightActivations::take_output(const Instruction& i) {
  StageActivations& held = held_.at({i.microbatch, i.stage});
  const tensor::Tensor y_mD = std::move(held.x_mD);
  held.x_mD.reset();
  book(held);
  if (!schedule::has_backward(program_, i.stage)) forget(i);
  return y_mD;
}

tensor::Tensor InFlightActivations::take_input_gradient(const Instruction& i) {
  StageActivations& held = held_.at({i.microbatch, i.stage});
  const tensor::Tensor dx_mD = std::move(held.dy_mD);
  held.dy_mD.reset();
  book(held);
  return dx_mD;
}

// Keeps the ledger true to what the microbatch holds now.
void InFlightActivations::book(StageActivations& held) {
  std::int64_t bytes = 0;
  const auto add = [&](const tensor::Tensor& t) { bytes += t.defined() ? static_cast<std::int64_t>(t.bytes()) : 0; };
  add(held.x_mD);
  add(held.dy_mD);
  for (const auto& [segment, kept] : held.segments) {
    add(kept.input_mD);
    bytes += kept.saved == nullptr ? 0 : kept.saved->bytes();
  }
  ledger_.release(tensor::MemoryUse::activations, held.booked_bytes);
  ledger_.hold(tensor::MemoryUse::activations, bytes);
  held.booked_bytes = bytes;
}

void InFlightActivations::clear() {
  for (const auto& [key, held] : held_) ledger_.release(tensor::MemoryUse::activations, held.booked_bytes);
  held_.clear();
  tokens_.clear();
  losses_.clear();
}

}  // namespace troika::executor
