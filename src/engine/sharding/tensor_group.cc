// Shapes: M rows, m this rank's, D width.
#include "sharding/tensor_group.h"

#include "comm/collectives.h"
#include "kernels/flat.h"
#include "tensor/operations.h"

namespace troika::sharding {

TensorGroup::TensorGroup(comm::Channel& channel, shape::SequenceParallel split)
    : PeerGroup(channel), split_(channel.size() == 1 ? shape::SequenceParallel::off : split) {}

shape::Range TensorGroup::rows(std::int64_t M) const {
  return shape::rows_between_operations(M, {rank(), size()}, split_);
}

void TensorGroup::exchange(const std::vector<tensor::Tensor>& to, const std::vector<tensor::Tensor>& from) const {
  on_wait_.during([&] { comm::all_to_all(*channel_, to, from); });
}

void TensorGroup::gather_into(const tensor::Tensor& mine, const std::vector<tensor::Tensor>& outs) const {
  on_wait_.during([&] { comm::all_gather(*channel_, mine, outs); });
}

static std::vector<shape::Range> even_parts(std::int64_t total, int size) {
  std::vector<shape::Range> parts;
  for (int rank = 0; rank < size; ++rank) parts.push_back(shape::part_of(total, rank, size));
  return parts;
}

tensor::Tensor TensorGroup::all_gather(const tensor::Tensor& x_mD, std::int64_t M) const {
  return split_ == shape::SequenceParallel::on ? join(x_mD, even_parts(M, size())) : x_mD;
}

tensor::Tensor TensorGroup::reduce_scatter(const tensor::Tensor& partial_MD) const {
  if (channel_ == nullptr) return partial_MD;
  if (split_ == shape::SequenceParallel::on) return sum_of_part(partial_MD, even_parts(partial_MD.size(0), size()));
  const tensor::Tensor flat = partial_MD.contiguous().view({partial_MD.elements()});
  const std::vector<shape::Range> parts = even_parts(flat.elements(), size());
  return join(sum_of_part(flat, parts), parts).view(partial_MD.sizes());
}

std::vector<tensor::Tensor> TensorGroup::gather(const tensor::Tensor& mine) const {
  if (channel_ == nullptr) return {mine};
  std::vector<tensor::Tensor> all;
  for (int r = 0; r < size(); ++r) all.push_back(tensor::empty_like(mine));
  gather_into(mine.contiguous(), all);
  return all;
}

// This rank's range of dim 0 of the sum of all ranks' `partial`, added in rank order in fp32.
tensor::Tensor TensorGroup::sum_of_part(const tensor::Tensor& partial, const std::vector<shape::Range>& ranges) const {
  const tensor::Tensor whole = partial.contiguous();
  std::vector<tensor::Tensor> to, from;
  for (const shape::Range& range : ranges) to.push_back(whole.narrow(0, range.begin, range.count));
  const auto me = static_cast<std::size_t>(rank());
  for (std::size_t r = 0; r < ranges.size(); ++r) from.push_back(r == me ? to[me] : tensor::empty_like(to[me]));
  exchange(to, from);
  const tensor::Tensor sum = tensor::empty_like(to[me]);
  kernels::sum_of_parts(from, sum);
  return sum;
}

// All ranks' ranges of dim 0, one after the other.
tensor::Tensor TensorGroup::join(const tensor::Tensor& mine, const std::vector<shape::Range>& ranges) const {
  std::vector<std::int64_t> sizes = mine.sizes().vec();
  sizes[0] = ranges.back().end();
  const tensor::Tensor whole = tensor::empty(sizes, mine.type());
  std::vector<tensor::Tensor> outs;
  for (const shape::Range& range : ranges) outs.push_back(whole.narrow(0, range.begin, range.count));
  gather_into(mine.contiguous(), outs);
  return whole;
}

void TensorGroup::sum(const std::vector<tensor::Tensor>& views) const {
  std::vector<SharedSlice> slices;
  for (const tensor::Tensor& view : views) slices.push_back({view, 0, size()});
  sum_shared(slices);
}

static bool is_held_by(const SharedSlice& slice, std::size_t rank) {
  return static_cast<std::size_t>(slice.first_holder) <= rank && rank < static_cast<std::size_t>(slice.end_holder);
}

// `from[r]` holds rank r's slices one after the other, but for `me`, whose slices are the views themselves.
static void add_in_rank_order(const std::vector<SharedSlice>& slices, const std::vector<tensor::Tensor>& from,
                              std::size_t me) {
  std::vector<std::int64_t> read(from.size(), 0);
  for (const SharedSlice& slice : slices) {
    const std::int64_t count = slice.view.elements();
    std::vector<tensor::Tensor> parts;
    for (std::size_t r = 0; r < from.size(); ++r) {
      if (!is_held_by(slice, r)) continue;
      parts.push_back(r == me ? slice.view : from[r].narrow(0, read[r], count));
      read[r] += count;
    }
    kernels::sum_of_parts(parts, slice.view);
  }
}

void TensorGroup::sum_shared(const std::vector<SharedSlice>& slices) const {
  if (channel_ == nullptr || slices.empty()) return;
  const auto ranks = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
  const tensor::Tensor nothing = tensor::empty({0}, slices.front().view.type());
  std::vector<tensor::Tensor> to(ranks, nothing), from(ranks, nothing);
  for (std::size_t r = 0; r < ranks; ++r) {
    std::vector<tensor::Tensor> shared;
    for (const SharedSlice& s : slices) {
      if (r != me && is_held_by(s, r)) shared.push_back(s.view.view({s.view.elements()}));
    }
    if (shared.empty()) continue;
    to[r] = tensor::cat(shared);
    from[r] = tensor::empty_like(to[r]);
  }
  exchange(to, from);
  add_in_rank_order(slices, from, me);
}

}  // namespace troika::sharding
