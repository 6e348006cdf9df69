#include "schedule/in_flight.h"

#include <algorithm>

namespace troika::schedule {

static std::int64_t of_segment(const std::vector<std::int64_t>& bytes, int segment) {
  return bytes.empty() ? 0 : bytes[static_cast<std::size_t>(segment)];
}

InFlight::InFlight(const Program& program, const Bounds& bounds, int lane)
    : program_(program), bounds_(bounds), table_(program, lane) {
  for (const auto& i : program.lanes[static_cast<std::size_t>(lane)]) {
    if (i.kind != Kind::refwd) continue;
    const auto [first, last] = segments_of(program, i);
    for (int g = first; g < last; ++g) table_.set(PassTable::again, i.microbatch, i.stage, g);
  }
}

void InFlight::hold(const Pair& pair, std::int64_t bytes) {
  std::int64_t& held = held_[pair];
  bytes_ += bytes - held;
  held = bytes;
}

void InFlight::release_buffer(Kind kind, const Instruction& i) {
  const auto found = buffers_.find({kind, {i.microbatch, i.stage}});
  if (found == buffers_.end()) return;
  bytes_ -= found->second;
  buffers_.erase(found);
}

void InFlight::end_weight(const Instruction& i, int segment) {
  hold({i.microbatch, segment}, 0);
  held_.erase({i.microbatch, segment});
  const auto left = segments_left_.find({i.microbatch, i.stage});
  if (--left->second == 0) segments_left_.erase(left);
}

void InFlight::begin(const Instruction& i) {
  if (i.kind == Kind::recv_act || i.kind == Kind::recv_grad)
    bytes_ += buffers_[{i.kind, {i.microbatch, i.stage}}] = i.bytes;
  if (i.kind != Kind::fwd && i.kind != Kind::refwd) return;
  segments_left_.emplace(Pair{i.microbatch, i.stage}, program_.end_segment(i.stage) - program_.first_segment(i.stage));
  const auto [first, last] = segments_of(program_, i);
  for (int g = first; g < last; ++g) {
    const bool kept = i.kind == Kind::fwd && table_.has(PassTable::again, i.microbatch, i.stage, g);
    hold({i.microbatch, g}, of_segment(kept ? bounds_.kept_bytes : bounds_.saved_bytes, g));
  }
}

void InFlight::end(const Instruction& i) {
  if (!is_computation(i.kind)) return;
  const auto [first, last] = segments_of(program_, i);
  if (i.kind == Kind::fwd && first == program_.first_segment(i.stage)) release_buffer(Kind::recv_act, i);
  if (is_input_backward(i.kind) && last == program_.end_segment(i.stage)) release_buffer(Kind::recv_grad, i);
  for (int g = first; g < last && is_weight_backward(i.kind); ++g) end_weight(i, g);
}

void InFlight::count_gathered(const Instruction& i) {
  if (!program_.shards(3)) return;
  if (i.kind == Kind::gather_params) gathered_bytes_ += of_segment(bounds_.parameter_bytes, i.segment);
  if (i.kind == Kind::free_params) gathered_bytes_ -= of_segment(bounds_.parameter_bytes, i.segment);
  peak_gathered_bytes_ = std::max(peak_gathered_bytes_, gathered_bytes_);
}

void InFlight::visit(const Instruction& i) {
  begin(i);
  peak_bytes_ = std::max(peak_bytes_, bytes_);
  peak_count_ = std::max(peak_count_, count());
  end(i);
  count_gathered(i);
}

}  // namespace troika::schedule
