#include "model/key_value_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "shape/architecture.h"

namespace troika::model {

KeyValueCache::KeyValueCache(const config::ModelSettings& model, const tensor::TensorType& type)
    : k(model.kv_heads), H(model.head_dim), type_(type) {
  for (int segment = 1; segment <= static_cast<int>(model.layers); ++segment)
    blocks_.push_back({shape::block_kind(model, segment).attends(), {}, {}});
}

std::int64_t KeyValueCache::bytes() const {
  std::int64_t sum = 0;
  for (const Block& block : blocks_)
    if (block.k_kSH.defined()) sum += static_cast<std::int64_t>(block.k_kSH.bytes() + block.v_kSH.bytes());
  return sum;
}

void KeyValueCache::reserve(std::int64_t positions) {
  if (positions <= capacity_) return;
  constexpr std::int64_t step = 64;
  capacity_ = (std::max(positions, capacity_ + capacity_ / 2) + step - 1) / step * step;
  const auto grow = [&](tensor::Tensor& held_kSH) {
    tensor::Tensor larger_kSH = tensor::empty({k, capacity_, H}, type_);
    if (length_ > 0) larger_kSH.narrow(1, 0, length_).copy_from(held_kSH.narrow(1, 0, length_));
    held_kSH = larger_kSH;
  };
  for (Block& block : blocks_) {
    if (!block.attends) continue;
    grow(block.k_kSH);
    grow(block.v_kSH);
  }
}

void KeyValueCache::write(std::int64_t block, const tensor::Tensor& k_TkH, const tensor::Tensor& v_TkH) {
  const std::int64_t T = k_TkH.size(0);
  if (length_ + T > capacity_)
    throw base::BugError(fmt::format("{} positions after {} in a cache with room for {}", T, length_, capacity_));
  Block& held = blocks_[static_cast<std::size_t>(block)];
  held.k_kSH.narrow(1, length_, T).copy_from(k_TkH.transpose(0, 1));
  held.v_kSH.narrow(1, length_, T).copy_from(v_TkH.transpose(0, 1));
}

void KeyValueCache::lengthen(std::int64_t positions) {
  if (length_ + positions > capacity_)
    throw base::BugError(fmt::format("{} positions after {} were never written", positions, length_));
  length_ += positions;
}

void KeyValueCache::shorten(std::int64_t length) {
  if (length < 0 || length > length_)
    throw base::BugError(fmt::format("a cache of {} positions cannot be shortened to {}", length_, length));
  length_ = length;
}

static tensor::Tensor first_positions(const tensor::Tensor& x_kSH, std::int64_t S) {
  return x_kSH.narrow(1, 0, S).transpose(0, 1).unsqueeze(0);
}

tensor::Tensor KeyValueCache::keys(std::int64_t block, std::int64_t S) const {
  return first_positions(blocks_[static_cast<std::size_t>(block)].k_kSH, S);
}

tensor::Tensor KeyValueCache::values(std::int64_t block, std::int64_t S) const {
  return first_positions(blocks_[static_cast<std::size_t>(block)].v_kSH, S);
}

}  // namespace troika::model
