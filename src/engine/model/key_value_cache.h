// The keys and values of one sequence in every block that attends, kept so that a position is computed once. It can be continued at any
// time, and shortened to continue from an earlier position.
// Shapes: T new positions, S positions held, k key/value heads, H head width.
#pragma once

#include <cstdint>
#include <vector>

#include "config/settings/settings.h"
#include "kernels/rope.h"
#include "shape/architecture.h"
#include "tensor/tensor.h"

namespace troika::model {

// Owns its memory: kv_heads * head_dim * 2 elements for each block and position of capacity(), which grows in steps as
// positions are added; a block with a window holds the last positions alone, so many as it sees and those of a pass. One rank's thread.
class KeyValueCache {
 public:
  // `type`: of keys and values.
  KeyValueCache(const config::ModelSettings& model, const tensor::TensorType& type);

  std::int64_t length() const { return length_; }  // positions that every block holds
  std::int64_t capacity() const { return capacity_; }
  std::int64_t bytes() const;  // of the memory held
  tensor::Dtype dtype() const { return type_.dtype; }

  // Makes room for `positions` in all, at least.
  void reserve(std::int64_t positions);
  // A block's keys and values of the positions that follow length(); room must have been made for them. Once all blocks
  // have written theirs, lengthen(T) counts them.
  void write(std::int64_t block, const tensor::Tensor& k_TkH, const tensor::Tensor& v_TkH);
  void lengthen(std::int64_t positions);
  // The most positions, at most `length`, after which it can be continued: 0 where a window's are forgotten.
  std::int64_t continuable(std::int64_t length) const;
  // Forgets all positions from `length` on, which is continuable.
  void shorten(std::int64_t length);

  // The first position that a block holds, and views of those from it to before S, [1, S - first, k, H]; rows of one head follow each
  // other.
  std::int64_t first(std::int64_t block) const { return blocks_[static_cast<std::size_t>(block)].first; }
  tensor::Tensor keys(std::int64_t block, std::int64_t S) const;
  tensor::Tensor values(std::int64_t block, std::int64_t S) const;

 private:
  struct Block {
    bool attends = true;          // else it holds nothing
    std::int64_t window = 0;      // 0: it holds all positions
    std::int64_t first = 0;       // position of the first row below
    tensor::Tensor k_kSH, v_kSH;
    std::int64_t room() const { return k_kSH.defined() ? k_kSH.size(1) : 0; }
  };
  void make_room(Block& block, std::int64_t positions);

  std::int64_t k, H;
  tensor::TensorType type_;
  std::int64_t length_ = 0, capacity_ = 0;
  std::vector<Block> blocks_;
};

// Rows of several sequences in one pass, each sequence's positions following those that its cache holds.
struct NewRows {
  // Rows [first, first + count); the caches have room for them. No cache appears twice.
  struct Part {
    KeyValueCache* cache = nullptr;
    std::int64_t first = 0, count = 0;
  };
  std::vector<Part> parts;
  kernels::RopeTable rope, local;  // a row for every row, where positions are rotary (Positions)
  const kernels::RopeTable& of(shape::BlockKind::Table table) const { return table == shape::BlockKind::Table::local ? local : rope; }
};

}  // namespace troika::model
