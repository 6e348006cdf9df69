#include "model/key_value_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "shape/architecture.h"

namespace troika::model {

KeyValueCache::KeyValueCache(const config::ModelSettings& model, const tensor::TensorType& type)
    : k(model.kv_heads), H(model.head_dim), type_(type) {
  for (int segment = 1; segment <= static_cast<int>(model.layers); ++segment) {
    const shape::BlockKind kind = shape::block_kind(model, segment);
    blocks_.push_back({kind.attends(), shape::window_of(model, kind), 0, {}, {}});
  }
}

std::int64_t KeyValueCache::bytes() const {
  std::int64_t sum = 0;
  for (const Block& block : blocks_)
    if (block.k_kSH.defined()) sum += static_cast<std::int64_t>(block.k_kSH.bytes() + block.v_kSH.bytes());
  return sum;
}

static constexpr std::int64_t step = 64;
static std::int64_t in_steps(std::int64_t positions) { return (positions + step - 1) / step * step; }

// A block with a window forgets what no position from length_ on sees, a step at a time, so that few rows are moved.
void KeyValueCache::make_room(Block& block, std::int64_t positions) {
  if (positions - block.first <= block.room()) return;
  const std::int64_t kept = block.window > 0 ? std::min(length_ - block.first, block.window - 1) : length_;
  const std::int64_t from = length_ - kept - block.first;
  const std::int64_t room = block.window > 0 ? in_steps(kept + std::max(positions - length_, step)) : capacity_;
  for (tensor::Tensor* held_kSH : {&block.k_kSH, &block.v_kSH}) {
    const tensor::Tensor larger_kSH = tensor::empty({k, room, H}, type_);
    if (kept > 0) larger_kSH.narrow(1, 0, kept).copy_from(held_kSH->narrow(1, from, kept));
    *held_kSH = larger_kSH;
  }
  block.first = length_ - kept;
}

void KeyValueCache::reserve(std::int64_t positions) {
  if (positions > capacity_) capacity_ = in_steps(std::max(positions, capacity_ + capacity_ / 2));
  for (Block& block : blocks_)
    if (block.attends) make_room(block, positions);
}

void KeyValueCache::write(std::int64_t block, const tensor::Tensor& k_TkH, const tensor::Tensor& v_TkH) {
  const std::int64_t T = k_TkH.size(0);
  Block& held = blocks_[static_cast<std::size_t>(block)];
  if (length_ - held.first + T > held.room())
    throw base::BugError(fmt::format("{} positions after {} in a cache with room for {}", T, length_, held.first + held.room()));
  held.k_kSH.narrow(1, length_ - held.first, T).copy_from(k_TkH.transpose(0, 1));
  held.v_kSH.narrow(1, length_ - held.first, T).copy_from(v_TkH.transpose(0, 1));
}

void KeyValueCache::lengthen(std::int64_t positions) {
  if (length_ + positions > capacity_)
    throw base::BugError(fmt::format("{} positions after {} were never written", positions, length_));
  length_ += positions;
}

std::int64_t KeyValueCache::continuable(std::int64_t length) const {
  const std::int64_t kept = std::min(length, length_);
  const auto holds = [&](const Block& block) { return block.first <= std::max<std::int64_t>(0, kept - block.window + 1); };
  return std::all_of(blocks_.begin(), blocks_.end(), [&](const Block& block) { return block.window == 0 || holds(block); }) ? kept : 0;
}

void KeyValueCache::shorten(std::int64_t length) {
  if (length < 0 || length != continuable(length))
    throw base::BugError(fmt::format("a cache of {} positions cannot be shortened to {}", length_, length));
  length_ = length;
  if (length > 0) return;
  for (Block& block : blocks_) block.first = 0;
}

static tensor::Tensor positions_of(const tensor::Tensor& x_kSH, std::int64_t S) {
  return x_kSH.narrow(1, 0, S).transpose(0, 1).unsqueeze(0);
}

tensor::Tensor KeyValueCache::keys(std::int64_t block, std::int64_t S) const {
  return positions_of(blocks_[static_cast<std::size_t>(block)].k_kSH, S - first(block));
}

tensor::Tensor KeyValueCache::values(std::int64_t block, std::int64_t S) const {
  return positions_of(blocks_[static_cast<std::size_t>(block)].v_kSH, S - first(block));
}

}  // namespace troika::model
