#include "executor/flights.h"

#include <ATen/ATen.h>

#include "schedule/border.h"

namespace troika::executor {
using schedule::Kind;

Flights::Flights(const schedule::Program& program, const std::vector<Instruction>& lane, const Units& units,
                 ReplicaTraffic& replicas, const Border& border, model::Keep keep, tensor::Ledger& ledger)
    : program_(program), units_(units), replicas_(replicas), border_(border), keep_(keep), ledger_(ledger) {
  for (const Instruction& i : lane) {
    if (i.kind != Kind::refwd) continue;
    const schedule::SegmentRange range = schedule::segments_of(program, i);
    for (int g = range.begin; g < range.end; ++g) recomputed_.insert({i.microbatch, g});
  }
}

void Flights::load(int microbatch, model::Tokens tokens) {
  mark(microbatch, tokens);
  tokens_[microbatch] = std::move(tokens);
}

void Flights::mark(int microbatch, model::Tokens& tokens) const {
  tokens.loss_scale = step_.loss_scale;
  tokens.step = step_.step;
  tokens.first_sample = step_.first_sample + microbatch * border_.B;
}

// A stage that loads no tokens sees only their shape.
const model::Tokens& Flights::tokens(int microbatch) {
  const auto [found, absent] = tokens_.try_emplace(microbatch);
  if (absent) {
    found->second.B = border_.B;
    found->second.T = border_.T;
    found->second.T_whole = border_.T_whole;
    mark(microbatch, found->second);
  }
  return found->second;
}

SegmentUnit& Flights::ready(int segment, const Instruction& i) {
  SegmentUnit& unit = *units_.at(segment);
  replicas_.await_parameters(unit, i);
  return unit;
}

void Flights::forward(const Instruction& i, const BorderSource& border_mD) {
  Flight& flight = flights_[{i.microbatch, i.stage}];
  const schedule::SegmentRange range = schedule::segments_of(program_, i);
  for (int g = range.begin; g < range.end; ++g) {
    if (g == program_.first_segment(i.stage)) flight.x_mD = border_mD();
    forward_segment(i, g, flight);
    book(flight);
  }
  const bool done = range.end == program_.segments() && program_.evaluates();
  if (done) forget(i);
}

// Tokens too, unless a stage that reads them is still to come on this rank.
void Flights::forget(const Instruction& i) {
  ledger_.release(tensor::Use::activations, flights_.at({i.microbatch, i.stage}).booked_bytes);
  flights_.erase({i.microbatch, i.stage});
  const auto& ranks = program_.pp_rank_of_stage;
  for (int later = i.stage + 1; later < program_.stages(); ++later) {
    const bool here = ranks[static_cast<std::size_t>(later)] == ranks[static_cast<std::size_t>(i.stage)];
    if (here && schedule::reads_tokens(program_, later)) return;
  }
  tokens_.erase(i.microbatch);
}

void Flights::forward_segment(const Instruction& i, int segment, Flight& flight) {
  const SegmentUnit& unit = ready(segment, i);
  SegmentFlight& of_segment = flight.segments[segment];
  const bool again = recomputed_.count({i.microbatch, segment}) > 0, backward = segment >= program_.first_trained;
  if (again) of_segment.input_mD = flight.x_mD;
  model::ForwardResult result = unit.body->forward(unit.parameters(), flight.x_mD, tokens(i.microbatch),
                                                   again || !backward ? model::Keep::nothing : keep_);
  flight.x_mD = std::move(result.y_mD);
  of_segment.saved = std::move(result.saved);
  if (segment + 1 == program_.segments()) losses_[i.microbatch] = result.loss;
}

void Flights::forward_again(const Instruction& i) {
  Flight& flight = flights_.at({i.microbatch, i.stage});
  const schedule::SegmentRange range = schedule::segments_of(program_, i);
  for (int g = range.begin; g < range.end; ++g) {
    const SegmentUnit& unit = ready(g, i);
    SegmentFlight& of_segment = flight.segments.at(g);
    of_segment.saved = unit.body->forward(unit.parameters(), of_segment.input_mD, tokens(i.microbatch), keep_).saved;
    of_segment.input_mD.reset();
  }
  book(flight);
}

// Backwards run from the last segment to the first.
template <class Visit>
void Flights::descend(const Instruction& i, Visit visit) {
  Flight& flight = flights_.at({i.microbatch, i.stage});
  const schedule::SegmentRange range = schedule::segments_of(program_, i);
  for (int g = range.end - 1; g >= range.begin; --g) visit(g, flight);
}

void Flights::backward(const Instruction& i, const BorderSource& border_mD) {
  descend(i, [&](int g, Flight& flight) {
    input_segment(i, g, flight, border_mD);
    weight_segment(i, g, flight);
  });
}

void Flights::backward_input(const Instruction& i, const BorderSource& border_mD) {
  descend(i, [&](int g, Flight& flight) { input_segment(i, g, flight, border_mD); });
}

void Flights::backward_weight(const Instruction& i) {
  descend(i, [&](int g, Flight& flight) { weight_segment(i, g, flight); });
}

void Flights::input_segment(const Instruction& i, int segment, Flight& flight, const BorderSource& border_mD) {
  const SegmentUnit& unit = ready(segment, i);
  if (segment + 1 == program_.end_segment(i.stage)) flight.dy_mD = border_mD();
  SegmentFlight& of_segment = flight.segments.at(segment);
  flight.dy_mD = unit.body->backward_input(unit.parameters(), flight.dy_mD, tokens(i.microbatch), *of_segment.saved);
  if (segment == program_.first_trained) flight.dy_mD.reset();  // nobody reads it
  book(flight);
}

void Flights::weight_segment(const Instruction& i, int segment, Flight& flight) {
  const SegmentUnit& unit = *units_.at(segment);
  const std::vector<Bucket*> written = unit.written();
  if (!written.empty())
    unit.body->backward_weight(unit.leaves(), tokens(i.microbatch), *flight.segments.at(segment).saved);
  flight.segments.at(segment).saved.reset();
  for (Bucket* bucket : written) bucket->sum().push(i.microbatch);
  book(flight);
}

at::Tensor Flights::take_output(const Instruction& i) {
  Flight& flight = flights_.at({i.microbatch, i.stage});
  const at::Tensor y_mD = std::move(flight.x_mD);
  flight.x_mD.reset();
  book(flight);
  if (!schedule::has_backward(program_, i.stage)) forget(i);
  return y_mD;
}

at::Tensor Flights::take_input_gradient(const Instruction& i) {
  Flight& flight = flights_.at({i.microbatch, i.stage});
  const at::Tensor dx_mD = std::move(flight.dy_mD);
  flight.dy_mD.reset();
  book(flight);
  return dx_mD;
}

// Keeps the ledger true to what the microbatch holds now.
void Flights::book(Flight& flight) {
  std::int64_t bytes = 0;
  const auto add = [&](const at::Tensor& t) { bytes += t.defined() ? static_cast<std::int64_t>(t.nbytes()) : 0; };
  add(flight.x_mD);
  add(flight.dy_mD);
  for (const auto& [segment, kept] : flight.segments) {
    add(kept.input_mD);
    bytes += kept.saved == nullptr ? 0 : kept.saved->bytes();
  }
  ledger_.release(tensor::Use::activations, flight.booked_bytes);
  ledger_.hold(tensor::Use::activations, bytes);
  flight.booked_bytes = bytes;
}

void Flights::clear() {
  for (const auto& [key, flight] : flights_) ledger_.release(tensor::Use::activations, flight.booked_bytes);
  flights_.clear();
  tokens_.clear();
  losses_.clear();
}

}  // namespace troika::executor
