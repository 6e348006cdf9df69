#include "sharding/canonical_sum.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "kernels/flat.h"
#include "sharding/range_exchange.h"
#include "tensor/booked.h"

namespace troika::sharding {
namespace {

constexpr std::int64_t element_bytes = 4;

// Adds blocks along the tree until one is left. They ascend; the sums are consumed.
template <class Summand>
at::Tensor add_up(const std::vector<Summand>& summands) {
  std::vector<shape::Block> blocks;
  std::vector<at::Tensor> sums;
  for (const Summand& summand : summands) {
    blocks.push_back(summand.block);
    sums.push_back(summand.sum);
  }
  while (blocks.size() > 1) {
    int lowest = blocks.front().level;
    for (const shape::Block& block : blocks) lowest = std::min(lowest, block.level);
    std::vector<shape::Block> parents;
    std::vector<at::Tensor> added;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      added.push_back(sums[i]);
      if (blocks[i].level > lowest) {
        parents.push_back(blocks[i]);
        continue;
      }
      const shape::Block parent = blocks[i].parent();
      parents.push_back(parent);
      const bool pair = i + 1 < blocks.size() && blocks[i + 1].level == lowest && blocks[i + 1].parent() == parent;
      if (pair) {  // otherwise the other child is absent: beyond the last leaf
        kernels::add_into(sums[i], sums[i + 1]);
        ++i;
      }
    }
    blocks = std::move(parents);
    sums = std::move(added);
  }
  return sums.front();
}

}  // namespace

CanonicalSum::CanonicalSum(shape::ShardPlan plan, const shape::SumShape& shape, const c10::Device& device,
                           tensor::Ledger& ledger)
    : plan_(std::move(plan)), shape_(shape), device_(device), ledger_(ledger) {
  const shape::ReplicaPlace& place = shape.place;
  if (shape.microbatches % place.dp != 0 || plan_.replicas() != place.count()) {
    throw base::BugError(fmt::format("{} microbatches over dp {} with shards for {} replicas", shape.microbatches,
                                     place.dp, plan_.replicas()));
  }
  reset();
}

CanonicalSum::~CanonicalSum() = default;

at::Tensor CanonicalSum::allocate(std::int64_t elements) {
  return tensor::booked_empty(elements, at::kFloat, device_, ledger_, tensor::MemoryUse::gradients);
}

at::Tensor CanonicalSum::take_whole() {
  if (free_.empty()) return allocate(plan_.elements());
  at::Tensor buffer = free_.back();
  free_.pop_back();
  return buffer;
}

at::Tensor CanonicalSum::leaf() {
  if (leaf_written_) throw base::BugError("a gradient is written before the last one was shared out");
  if (!leaf_.defined()) leaf_ = take_whole();
  return leaf_;
}

void CanonicalSum::push(std::int64_t microbatch) {
  if (microbatch != next_ || !leaf_.defined() || leaf_written_) {
    throw base::BugError(fmt::format("gradient of microbatch {} came where {} was due", microbatch, next_));
  }
  const bool round_robin = shape_.sharing == shape::Sharing::every_round;
  next_ += round_robin ? shape_.place.dp : 1;
  ++pushed_;
  if (round_robin) {
    leaf_written_ = true;
  } else {
    enter({0, shape_.place.cp_rank * shape_.microbatches + microbatch}, leaf_);
    leaf_.reset();
  }
}

// The newest block; siblings among the newest are added.
void CanonicalSum::enter(shape::Block block, at::Tensor sum) {
  partials_.push_back({block, std::move(sum)});
  while (partials_.size() > 1) {
    Partial& left = partials_[partials_.size() - 2];
    const Partial right = partials_.back();
    if (left.block.level != right.block.level || !(left.block.parent() == right.block.parent())) return;
    kernels::add_into(left.sum, right.sum);
    left.block = left.block.parent();
    free_.push_back(right.sum);
    partials_.pop_back();
  }
}

void CanonicalSum::start_reduce(comm::Channel& replicas, std::uint32_t tag) {
  const bool every_round = shape_.sharing == shape::Sharing::every_round;
  if (reducing_ || (every_round ? !leaf_written_ : pushed_ != shape_.share())) {
    throw base::BugError(fmt::format("gradients are shared out after {} of {} microbatches", pushed_, shape_.share()));
  }
  reducing_ = true;
  if (every_round) {
    start_round(replicas, tag);
  } else if (shape_.place.count() > 1) {
    start_sharing(replicas, tag);
  }
}

// Every replica's leaf of this round, by ascending leaf.
void CanonicalSum::start_round(comm::Channel& replicas, std::uint32_t tag) {
  const shape::ReplicaPlace& place = shape_.place;
  sending_ = std::move(leaf_);
  leaf_.reset();
  leaf_written_ = false;
  for (int d = 0; d < place.dp; ++d) {
    for (int c = 0; c < place.cp; ++c)
      receive(replicas, c * place.dp + d, {0, shape_.leaf_of_round(pushed_ - 1, d, c)}, sending_, tag);
  }
  send_ranges(replicas, sending_, tag);
}

// Every replica's partial sums, by ascending block. They take the room of the leaves that are no longer needed.
void CanonicalSum::start_sharing(comm::Channel& replicas, std::uint32_t tag) {
  free_.clear();
  for (int r = 0; r < shape_.place.count(); ++r) {
    const auto blocks = shape_.blocks_of(r);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      receive(replicas, r, blocks[i], i < partials_.size() ? partials_[i].sum : at::Tensor(), tag);
    }
  }
  for (const Partial& partial : partials_) send_ranges(replicas, partial.sum, tag);
}

void CanonicalSum::receive(comm::Channel& replicas, int from, shape::Block block, const at::Tensor& own,
                           std::uint32_t tag) {
  const shape::Range range = mine();
  const bool every_round = shape_.sharing == shape::Sharing::every_round;
  if (from == shape_.place.index()) {
    const at::Tensor part = own.narrow(0, range.begin, range.count);
    incoming_.push_back({block, every_round ? allocate(range.count).copy_(part) : part, {}});  // the leaf will go
    return;
  }
  const at::Tensor buffer = allocate(range.count);
  incoming_.push_back({block, buffer, range.count > 0 ? replicas.recv(buffer, from, tag) : comm::Transfer()});
}

void CanonicalSum::send_ranges(comm::Channel& replicas, const at::Tensor& whole, std::uint32_t tag) {
  const int count = shape_.place.count();
  // Beginning with the right-hand neighbour, so that not all send to one rank at once.
  for (int i = 1; i < count; ++i) {
    const int to = (shape_.place.index() + i) % count;
    const shape::Range range = plan_.elements_of(to);
    if (range.count > 0) sends_.push_back(replicas.send(whole.narrow(0, range.begin, range.count), to, tag));
  }
}

void CanonicalSum::finish_reduce(const OnWait& on_wait) {
  if (!reducing_) throw base::BugError("gradients are awaited that were not shared out");
  const double begin = base::monotonic_seconds();
  for (Incoming& incoming : incoming_) incoming.transfer.wait();
  for (comm::Transfer& send : sends_) send.wait();
  if (!incoming_.empty()) on_wait(begin, base::monotonic_seconds());
  sends_.clear();
  reducing_ = false;
  if (shape_.sharing == shape::Sharing::every_round) return finish_round();
  total_ = incoming_.empty() ? add_up(partials_) : add_up(incoming_);
  incoming_.clear();
}

void CanonicalSum::finish_round() {
  for (Incoming& incoming : incoming_) enter(incoming.block, std::move(incoming.sum));
  incoming_.clear();
  sending_.reset();
  free_.clear();  // ranges; room for those of all replicas is needed for one buffer at a time
  if (++rounds_ < shape_.share()) return;
  total_ = add_up(partials_);
  partials_.clear();
}

at::Tensor CanonicalSum::total() const {
  if (!total_.defined()) throw base::BugError("a gradient's total is read before its sum is complete");
  return total_;
}

void CanonicalSum::start_gather(comm::Channel& replicas, std::uint32_t tag) {
  if (shape_.sharing != shape::Sharing::at_end) throw base::BugError("the whole sum is not kept in this layout");
  const shape::Range range = mine();
  whole_ = partials_.front().sum;
  const at::Tensor own = whole_.narrow(0, range.begin, range.count);
  if (own.data_ptr() != total().data_ptr()) own.copy_(total());
  gathers_ = exchange_ranges(replicas, plan_, whole_, tag);
}

at::Tensor CanonicalSum::finish_gather(const OnWait& on_wait) {
  if (!whole_.defined()) throw base::BugError("a whole gradient is awaited that was not asked for");
  const double begin = base::monotonic_seconds();
  for (comm::Transfer& transfer : gathers_) transfer.wait();
  if (!gathers_.empty()) on_wait(begin, base::monotonic_seconds());
  gathers_.clear();
  return whole_;
}

void CanonicalSum::reset() {
  total_.reset();
  whole_.reset();
  free_.clear();
  partials_.clear();
  pushed_ = rounds_ = 0;
  next_ = shape_.sharing == shape::Sharing::every_round ? shape_.place.dp_rank : shape_.share() * shape_.place.dp_rank;
}

}  // namespace troika::sharding
