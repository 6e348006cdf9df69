#include "schedule/in_flight.h"

#include <algorithm>

namespace troika::schedule {

static std::int64_t of_stage(const std::vector<std::int64_t>& bytes, int stage) {
  return bytes.empty() ? 0 : bytes[static_cast<std::size_t>(stage)];
}

InFlight::InFlight(const Program& program, const Bounds& bounds, int lane) : bounds_(bounds) {
  for (const auto& i : program.lanes[static_cast<std::size_t>(lane)]) {
    if (i.kind == Kind::refwd) recomputed_.insert({i.microbatch, i.stage});
    if (i.kind == Kind::fwd) ++segments_left_[{i.microbatch, i.stage}];
  }
}

void InFlight::hold(const Pair& pair, std::int64_t bytes) {
  std::int64_t& held = held_[pair];
  bytes_ += bytes - held;
  held = bytes;
}

void InFlight::release_buffer(Kind kind, const Pair& pair) {
  const auto found = buffers_.find({kind, pair});
  if (found == buffers_.end()) return;
  bytes_ -= found->second;
  buffers_.erase(found);
}

void InFlight::end_weight(const Pair& pair) {
  if (--segments_left_[pair] > 0) return;
  hold(pair, 0);
  held_.erase(pair);
}

// Peaks are taken with an instruction's result already held and its input not yet released.
void InFlight::visit(const Instruction& i) {
  const Pair pair{i.microbatch, i.stage};
  const bool receives = i.kind == Kind::recv_act || i.kind == Kind::recv_grad;
  if (receives) bytes_ += buffers_[{i.kind, pair}] = i.bytes;
  if (i.kind == Kind::fwd)
    hold(pair, of_stage(recomputed_.count(pair) ? bounds_.kept_bytes : bounds_.saved_bytes, i.stage));
  if (i.kind == Kind::refwd) hold(pair, of_stage(bounds_.saved_bytes, i.stage));
  if (i.kind == Kind::fetch) hold(pair, offloaded_[pair]);
  peak_bytes_ = std::max(peak_bytes_, bytes_);
  peak_count_ = std::max(peak_count_, count());
  if (i.kind == Kind::offload) {
    offloaded_[pair] = held_[pair];
    hold(pair, 0);
  }
  if (i.kind == Kind::fwd) release_buffer(Kind::recv_act, pair);
  if (i.kind == Kind::bwd || i.kind == Kind::bwd_input) release_buffer(Kind::recv_grad, pair);
  if (i.kind == Kind::bwd || i.kind == Kind::bwd_weight) end_weight(pair);
}

}  // namespace troika::schedule
