#include "sharding/canonical_sum.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "comm/collectives.h"
#include "kernels/flat.h"
#include "tensor/device.h"

namespace troika::sharding {
namespace {

std::int64_t share_begin(std::int64_t leaves, int rank, int dp) { return leaves / dp * rank; }

// The elements that dp rank `rank` adds up: contiguous, borders on whole chunks of the norm.
struct Range {
  std::int64_t begin, count;
};
Range owned_range(std::int64_t elements, int rank, int dp) {
  const std::int64_t chunks = (elements + kernels::norm_chunk - 1) / kernels::norm_chunk;
  const auto border = [&](int r) { return std::min(elements, chunks * r / dp * kernels::norm_chunk); };
  return {border(rank), border(rank + 1) - border(rank)};
}

// Adds blocks along the tree until one is left. `sums` ascend; buffers are consumed.
at::Tensor add_up(std::vector<Block> blocks, std::vector<at::Tensor> sums) {
  while (blocks.size() > 1) {
    int lowest = blocks.front().level;
    for (const Block& block : blocks) lowest = std::min(lowest, block.level);
    std::vector<Block> parents;
    std::vector<at::Tensor> added;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].level > lowest) {
        parents.push_back(blocks[i]);
        added.push_back(sums[i]);
        continue;
      }
      const Block parent = blocks[i].parent();
      if (i + 1 < blocks.size() && blocks[i + 1].level == lowest && blocks[i + 1].parent() == parent) {
        kernels::add_into(sums[i], sums[i + 1]);
        parents.push_back(parent);
        added.push_back(sums[i++]);
      } else {  // the other child is absent: beyond the last leaf
        parents.push_back(parent);
        added.push_back(sums[i]);
      }
    }
    blocks = std::move(parents);
    sums = std::move(added);
  }
  return sums.front();
}

}  // namespace

CanonicalSum::CanonicalSum(std::int64_t elements, std::int64_t leaves, int dp_rank, int dp, const c10::Device& device,
                           tensor::Ledger& ledger)
    : elements_(elements),
      leaves_(leaves),
      dp_rank_(dp_rank),
      dp_(dp),
      device_(device),
      ledger_(ledger),
      next_(share_begin(leaves, dp_rank, dp)) {
  if (leaves % dp != 0) throw base::BugError(fmt::format("{} microbatches do not divide by dp {}", leaves, dp));
}

CanonicalSum::~CanonicalSum() { ledger_.release(tensor::Use::gradients, allocated_ * elements_ * 4); }

at::Tensor CanonicalSum::take() {
  if (free_.empty()) {
    ++allocated_;
    ledger_.hold(tensor::Use::gradients, elements_ * 4);
    return tensor::empty_float({elements_}, device_);
  }
  at::Tensor buffer = free_.back();
  free_.pop_back();
  return buffer;
}

void CanonicalSum::give_back(at::Tensor buffer) { free_.push_back(std::move(buffer)); }

at::Tensor CanonicalSum::leaf() {
  if (!leaf_.defined()) leaf_ = take();
  return leaf_;
}

void CanonicalSum::push(std::int64_t microbatch) {
  if (microbatch != next_ || !leaf_.defined()) {
    throw base::BugError(fmt::format("gradient of microbatch {} came where {} was due", microbatch, next_));
  }
  ++next_;
  partials_.push_back({{0, microbatch}, leaf_});
  leaf_.reset();
  merge();
}

// Adds siblings while the two newest partial sums are siblings.
void CanonicalSum::merge() {
  while (partials_.size() > 1) {
    Partial& left = partials_[partials_.size() - 2];
    Partial& right = partials_.back();
    if (left.block.level != right.block.level || !(left.block.parent() == right.block.parent())) return;
    kernels::add_into(left.sum, right.sum);
    left.block = left.block.parent();
    give_back(right.sum);
    partials_.pop_back();
  }
}

std::int64_t CanonicalSum::bytes_sent(std::int64_t elements, std::int64_t leaves, int dp_rank, int dp) {
  if (dp == 1) return 0;
  const std::int64_t share = leaves / dp, begin = share_begin(leaves, dp_rank, dp);
  const auto blocks = static_cast<std::int64_t>(blocks_of_share(begin, begin + share).size());
  const std::int64_t own = owned_range(elements, dp_rank, dp).count;
  return 4 * (blocks * (elements - own) + own * (dp - 1));
}

at::Tensor CanonicalSum::reduce(comm::Channel& dp, const OnWait& on_wait) {
  if (next_ != share_begin(leaves_, dp_rank_, dp_) + leaves_ / dp_) {
    throw base::BugError(fmt::format("reduce before the last gradient: {} is still due", next_));
  }
  if (dp_ == 1) {
    std::vector<Block> blocks;
    std::vector<at::Tensor> sums;
    for (const Partial& partial : partials_) {
      blocks.push_back(partial.block);
      sums.push_back(partial.sum);
    }
    return add_up(std::move(blocks), std::move(sums));
  }
  const at::Tensor owned = reduce_owned(dp, on_wait);
  const at::Tensor total = partials_.front().sum;
  std::vector<at::Tensor> parts;
  for (int rank = 0; rank < dp_; ++rank) {
    const Range range = owned_range(elements_, rank, dp_);
    parts.push_back(total.narrow(0, range.begin, range.count));
  }
  const double begin = base::monotonic_seconds();
  comm::all_gather(dp, owned, parts);
  on_wait(begin, base::monotonic_seconds());
  return total;
}

// Every rank sends each owner its partial sums of the owner's elements; the owner adds them up along the tree.
at::Tensor CanonicalSum::reduce_owned(comm::Channel& dp, const OnWait& on_wait) {
  const std::int64_t share = leaves_ / dp_, mine = owned_range(elements_, dp_rank_, dp_).count;
  std::vector<at::Tensor> to, from, sums;
  std::vector<Block> blocks;
  for (int rank = 0; rank < dp_; ++rank) {
    const Range range = owned_range(elements_, rank, dp_);
    std::vector<at::Tensor> pieces;
    for (const Partial& partial : partials_) pieces.push_back(partial.sum.narrow(0, range.begin, range.count));
    to.push_back(at::stack(pieces));

    const std::int64_t begin = share_begin(leaves_, rank, dp_);
    const auto theirs = blocks_of_share(begin, begin + share);
    from.push_back(tensor::empty_float({static_cast<std::int64_t>(theirs.size()), mine}, device_));
    for (std::size_t i = 0; i < theirs.size(); ++i) sums.push_back(from.back()[static_cast<std::int64_t>(i)]);
    blocks.insert(blocks.end(), theirs.begin(), theirs.end());
  }
  const double waiting_since = base::monotonic_seconds();
  comm::all_to_all(dp, to, from);
  on_wait(waiting_since, base::monotonic_seconds());
  return add_up(std::move(blocks), std::move(sums));
}

void CanonicalSum::reset() {
  for (Partial& partial : partials_) give_back(partial.sum);
  partials_.clear();
  next_ = share_begin(leaves_, dp_rank_, dp_);
}

}  // namespace troika::sharding
