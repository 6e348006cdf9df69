#include "schedule/check/in_flight.h"

#include <algorithm>

#include "schedule/instruction/placement.h"

namespace troika::schedule {

static std::int64_t of_segment(const std::vector<std::int64_t>& bytes, int segment) {
  const auto index = static_cast<std::size_t>(segment);
  return index < bytes.size() ? bytes[index] : 0;
}

InFlight::InFlight(const Program& program, const Bounds& bounds, int rank)
    : program_(program), bounds_(bounds), arrivals_(program, rank), recomputed_(program, rank) {
  for (const auto& i : program.ranks[static_cast<std::size_t>(rank)]) {
    if (!has_pass(i.kind, recompute_pass)) continue;
    const auto [first, last] = segments_of(program, i);
    for (int g = first; g < last; ++g) recomputed_.set(recompute_pass, i.microbatch, i.stage, g);
  }
}

std::vector<Instruction> InFlight::parts_of(const Program& program, const Instruction& i) {
  if (!is_computation(i.kind)) return {i};
  std::vector<Instruction> parts;
  const auto [first, last] = segments_of(program, i);
  const bool ascends = has_pass(i.kind, forward_pass) || has_pass(i.kind, recompute_pass);
  for (int n = 0; n < last - first; ++n) {
    const int segment = ascends ? first + n : last - 1 - n;
    if (traits(i.kind).passes != whole_backward) {
      parts.push_back({i.kind, i.microbatch, i.stage, segment});
      continue;
    }
    parts.push_back({Kind::bwd_input, i.microbatch, i.stage, segment});
    parts.push_back({Kind::bwd_weight, i.microbatch, i.stage, segment});
  }
  return parts;
}

void InFlight::hold(const Key& key, std::int64_t bytes) {
  std::int64_t& held = held_[key];
  bytes_ += bytes - held;
  held = bytes;
  if (bytes == 0) held_.erase(key);
}

InFlight::What InFlight::travelling(const Instruction& message) {
  const bool act = traits(message.kind).payload == Payload::activation;
  if (traits(message.kind).role == Role::send) return act ? What::sent_act : What::sent_grad;
  return act ? What::received_act : What::received_grad;
}

// Takes the input of the passes at a stage boundary: a message, or data that the neighbouring stage has left on this rank.
void InFlight::take(Kind receive, const Instruction& i) {
  const Instruction message{receive, i.microbatch, i.stage};
  hold({travelling(message), i.microbatch, i.stage}, 0);
  for (const Instruction& sent : arrivals_.proven_by(message)) hold({travelling(sent), sent.microbatch, sent.stage}, 0);
  hold({standing(message), i.microbatch, peer_stage(message)}, 0);
}

// The input becomes part of what is saved, the output that of the next segment, whose input has bounds_.kept_bytes.
void InFlight::forward(const Instruction& i) {
  const int m = i.microbatch, s = i.stage;
  const auto [begin, end] = trained_segments_of(program_, s);
  segments_left_.emplace(std::pair{m, s}, end - begin);
  if (i.segment == program_.first_segment(s)) take(Kind::recv_act, i);
  if (!program_.evaluates() && i.segment >= program_.first_trained)
    hold({What::saved, m, i.segment},
         of_segment(will_recompute(i) ? bounds_.kept_bytes : bounds_.saved_bytes, i.segment));
  hold({What::activation, m, s}, of_segment(bounds_.kept_bytes, i.segment + 1));
}

void InFlight::backward_input(const Instruction& i) {
  const int m = i.microbatch, s = i.stage;
  if (i.segment + 1 == program_.end_segment(s)) take(Kind::recv_grad, i);
  const auto& left = bounds_.half_bytes.empty() ? bounds_.saved_bytes : bounds_.half_bytes;
  hold({What::saved, m, i.segment}, of_segment(left, i.segment));
  const bool nobody_wants_it = i.segment > 0 && i.segment == program_.first_trained;
  hold({What::gradient, m, s}, nobody_wants_it ? 0 : of_segment(bounds_.kept_bytes, i.segment));
}

void InFlight::backward_weight(const Instruction& i) {
  hold({What::saved, i.microbatch, i.segment}, 0);
  const auto left = segments_left_.find({i.microbatch, i.stage});
  if (--left->second == 0) segments_left_.erase(left);
}

void InFlight::send(const Instruction& i) {
  hold({standing(i), i.microbatch, i.stage}, 0);
  if (is_unanswered(program_, i)) {
    hold(under_way_, 0);
    under_way_ = {travelling(i), i.microbatch, i.stage};
  }
  hold({travelling(i), i.microbatch, i.stage}, i.bytes);
}

void InFlight::count_gathered(const Instruction& i) {
  if (!program_.shards(3)) return;
  if (i.kind == Kind::gather_params) gathered_bytes_ += of_segment(bounds_.parameter_bytes, i.segment);
  if (i.kind == Kind::free_params) gathered_bytes_ -= of_segment(bounds_.parameter_bytes, i.segment);
  peak_gathered_bytes_ = std::max(peak_gathered_bytes_, gathered_bytes_);
}

void InFlight::visit_part(const Instruction& part) {
  const Traits& row = traits(part.kind);
  const int m = part.microbatch, s = part.stage;
  if (row.role == Role::receive) hold({travelling(part), m, s}, part.bytes);
  if (row.role == Role::send) send(part);
  if (row.passes == forward_pass) forward(part);
  if (row.passes == recompute_pass) hold({What::saved, m, part.segment}, of_segment(bounds_.saved_bytes, part.segment));
  if (row.passes == input_pass) backward_input(part);
  if (row.passes == weight_pass) backward_weight(part);
  if (row.part == Part::summary) {
    held_.clear();
    bytes_ = 0;
  }
  count_gathered(part);
  peak_bytes_ = std::max(peak_bytes_, bytes_);
  peak_count_ = std::max(peak_count_, count());
  if (row.passes == forward_pass && part.segment + 1 == program_.end_segment(s) && !has_backward(program_, s))
    segments_left_.erase({m, s});
}

void InFlight::visit(const Instruction& i) {
  for (const Instruction& part : parts_of(program_, i)) visit_part(part);
}

}  // namespace troika::schedule
