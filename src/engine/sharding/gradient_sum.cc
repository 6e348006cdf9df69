#include "sharding/gradient_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/flat.h"
#include "tensor/operations.h"

namespace troika::sharding {
using kernels::Into;
using shape::Range;
using shape::Reduction;
using shape::Travel;

GradientSum::GradientSum(shape::ShardPlan plan, const shape::SumShape& shape, const tensor::Device& device,
                         tensor::Ledger& ledger)
    : plan_(std::move(plan)),
      shape_(shape),
      device_(device),
      ledger_(ledger),
      own_(plan_, shape_, device_,
           [this](std::int64_t elements, tensor::Dtype dtype) { return allocate(elements, dtype); }) {
  const shape::ReplicaPlace& place = shape.place;
  if (shape.shares.size() != static_cast<std::size_t>(place.dp) || plan_.replicas() != place.count()) {
    throw base::BugError(fmt::format("shares of {} data-parallel ranks of {}, shards of {} replicas of {}",
                                     shape.shares.size(), place.dp, plan_.replicas(), place.count()));
  }
}

GradientSum::~GradientSum() = default;

void GradientSum::begin_step(const std::vector<int>& exponents, Bits bits) {
  if (exponents.size() != plan_.parts())
    throw base::BugError(fmt::format("{} exponents for {} parameters", exponents.size(), plan_.parts()));
  shifts_.clear();
  for (const int exponent : exponents) shifts_.push_back(shape::grid_shift(shape_, exponent));
  own_.begin_step(shifts_);
  bits_ = bits;
  shared_bits_.assign(bits == Bits::summed ? plan_.parts() : 0, 0);
}

tensor::Tensor GradientSum::allocate(std::int64_t elements, tensor::Dtype dtype) const {
  return tensor::booked_empty(elements, dtype, device_, ledger_, tensor::MemoryUse::gradients);
}

NewIntegers GradientSum::new_integers() const {
  return [this](std::int64_t count) { return allocate(count, tensor::Dtype::int64); };
}

static std::uint32_t bits_of_elements(const tensor::Tensor& elements) {
  const tensor::Tensor words =
      elements.dtype() == tensor::Dtype::int64 ? elements.bits_as(tensor::Dtype::int32) : elements;
  return static_cast<std::uint32_t>(tensor::value_of(kernels::bits_sum(words)));
}

void GradientSum::note_shared(const Range& range, const tensor::Tensor& elements) {
  if (bits_ == Bits::unread) return;
  plan_.visit_parts(range, [&](std::size_t part, std::int64_t begin, std::int64_t count) {
    shared_bits_[part] += bits_of_elements(elements.narrow(0, begin, count));
  });
}

std::vector<std::uint32_t> GradientSum::sum_bits() const {
  std::vector<std::uint32_t> sums(plan_.parts());
  const tensor::Tensor own = own_sum();
  plan_.visit_parts(mine(), [&](std::size_t part, std::int64_t begin, std::int64_t count) {
    sums[part] += bits_of_elements(own.narrow(0, begin, count));
  });
  return sums;
}

void GradientSum::start_reduce(comm::Channel& replicas, std::uint32_t tag) {
  if (reducing_) throw base::BugError("gradients are shared out while others of the buffer are on their way");
  if (shape_.reduction == Reduction::each_leaf && own_.are_floats()) {
    share_out_leaf(own_.take_floats(), replicas, tag);
  } else if (own_.are_floats()) {
    share_out(own_.take_floats(), replicas, tag);
  } else {
    share_out(own_.take_integers(), replicas, tag);
  }
  reducing_ = true;
}

void GradientSum::share_out(tensor::Tensor floats, comm::Channel& replicas, std::uint32_t tag) {
  const int count = shape_.place.count();
  note_shared({0, plan_.elements()}, floats);
  if (count == 1) {
    range_ = std::move(floats);
    return;
  }
  sending_ = std::move(floats);
  begin_range(sending_);
  if (shape_.travel == Travel::added) return sends_.push_back(replicas.reduce_scatter(ranges_of(plan_, sending_), tag));
  std::vector<comm::Message> out;
  for (int i = 1; i < count; ++i) {  // from the right-hand neighbour on, so that not all send to one rank at once
    const int to = (shape_.place.index() + i) % count;
    const Range range = plan_.elements_of(to);
    if (range.count > 0) out.push_back({sending_.narrow(0, range.begin, range.count), to, tag});
  }
  exchange(out, replicas, tag);
  receive_packed(replicas, tag);
}

void GradientSum::share_out_leaf(tensor::Tensor leaf, comm::Channel& replicas, std::uint32_t tag) {
  note_shared({0, plan_.elements()}, leaf);
  if (shape_.travel == Travel::added) {
    if (!range_.defined()) range_ = allocate(mine().count, tensor::Dtype::fp32).zero();
    const std::vector<tensor::Tensor> ranges = ranges_of(plan_, leaf);
    incoming_.push_back({ranges[static_cast<std::size_t>(shape_.place.index())], replicas.reduce_scatter(ranges, tag)});
    return;
  }
  begin_range(leaf);
  if (shape_.place.count() == 1) return;
  leaf_exchange_.emplace(std::move(leaf), plan_, replicas, tag, shape_.receives,
                         [this] { return allocate(mine().count, tensor::Dtype::fp32); });
}

void GradientSum::share_out(std::vector<tensor::Tensor> integers, comm::Channel& replicas, std::uint32_t tag) {
  for (std::size_t replica = 0; replica < integers.size(); ++replica)
    note_shared(plan_.elements_of(static_cast<int>(replica)), integers[replica]);
  if (shape_.travel == Travel::packed) return pack(std::move(integers), replicas, tag);
  if (shape_.travel == Travel::added) {
    incoming_.push_back(
        {integers[static_cast<std::size_t>(shape_.place.index())], replicas.reduce_scatter(integers, tag)});
    return;
  }
  const int count = shape_.place.count(), index = shape_.place.index();
  std::vector<comm::Message> out;
  for (int i = 1; i < count; ++i) {
    const int to = (index + i) % count;
    const tensor::Tensor& sum = integers[static_cast<std::size_t>(to)];
    if (sum.elements() > 0) out.push_back({sum, to, tag});
  }
  range_ = std::move(integers[static_cast<std::size_t>(index)]);
  exchange(out, replicas, tag);
}

// Each packed tensor is sent at once, so that little is in memory twice.
void GradientSum::pack(std::vector<tensor::Tensor> integers, comm::Channel& replicas, std::uint32_t tag) {
  const int count = shape_.place.count(), index = shape_.place.index();
  std::vector<int> receivers;
  for (int i = 1; i < count; ++i) {
    const int to = (index + i) % count;
    tensor::Tensor& sum = integers[static_cast<std::size_t>(to)];
    if (sum.elements() == 0) continue;
    packed_sends_.emplace_back(sum, new_integers());
    sum.reset();
    receivers.push_back(to);
  }
  range_ = std::move(integers[static_cast<std::size_t>(index)]);
  integers.clear();
  exchange({}, replicas, tag);
  receive_packed(replicas, tag);
  for (std::size_t i = 0; i < receivers.size(); ++i) packed_sends_[i].start(replicas, receivers[i], tag);
}

// This rank's own part of what it shares out in fp32.
void GradientSum::begin_range(const tensor::Tensor& leaf) {
  const tensor::Tensor own = leaf.narrow(0, mine().begin, mine().count);
  if (range_.defined()) return add(own);
  if (shape_.sums_in_place()) {
    range_ = own;  // which no send reads
  } else if (shape_.in_floats()) {
    range_ = allocate(mine().count, tensor::Dtype::fp32).copy_from(own);
  } else {
    range_ = allocate(mine().count, tensor::Dtype::int64);
    add_on_grid(own, Into::fresh);
  }
}

// Sends `out` and receives what is not packed of the other replicas' ranges.
void GradientSum::exchange(const std::vector<comm::Message>& out, comm::Channel& replicas, std::uint32_t tag) {
  const int count = shape_.place.count();
  std::vector<comm::Message> in;
  for (int i = 1; i < count && mine().count > 0; ++i) {
    const int from = (shape_.place.index() + count - i) % count;
    const bool floats = shape_.shares_floats(from);
    if (floats || shape_.travel == Travel::plain)
      in.push_back({allocate(mine().count, floats ? tensor::Dtype::fp32 : tensor::Dtype::int64), from, tag});
  }
  std::vector<comm::Transfer> transfers = replicas.exchange(in, out);
  for (std::size_t i = 0; i < in.size(); ++i) incoming_.push_back({in[i].tensor, std::move(transfers[i])});
  for (std::size_t i = in.size(); i < transfers.size(); ++i) sends_.push_back(std::move(transfers[i]));
}

void GradientSum::receive_packed(comm::Channel& replicas, std::uint32_t tag) {
  const int count = shape_.place.count();
  if (mine().count == 0 || shape_.travel == Travel::plain) return;
  for (int i = 1; i < count; ++i) {
    const int from = (shape_.place.index() + count - i) % count;
    if (!shape_.shares_floats(from)) packed_ranges_.emplace_back(mine().count, new_integers(), replicas, from, tag);
  }
}

void GradientSum::add(const tensor::Tensor& range) {
  if (!range_.defined()) {
    range_ = range;
    return;
  }
  if (range_.dtype() == tensor::Dtype::fp32) return kernels::add_into(range_, range);
  if (range.dtype() == tensor::Dtype::int64) {
    tensor::add(range_, range);
    return;
  }
  add_on_grid(range, Into::sum);
}

void GradientSum::add_on_grid(const tensor::Tensor& range, Into into) {
  kernels::add_on_grid(range_, range, grid_stretches(plan_, mine(), shifts_), into);
}

// The only leaf of every replica, of which none is rounded before all are added up.
void GradientSum::sum_in_place() {
  const std::int64_t most = std::min(mine().count, shape::sum_block(shape_.travel));
  const tensor::Tensor block = allocate(most, tensor::Dtype::int64);
  for (Incoming& incoming : incoming_) incoming.transfer.wait();
  for (std::int64_t begin = 0; begin < mine().count; begin += most) {
    const std::int64_t here = std::min(mine().count - begin, most);
    const kernels::GridStretches grid = grid_stretches(plan_, {mine().begin + begin, here}, shifts_);
    const tensor::Tensor sum = block.narrow(0, 0, here), own = range_.narrow(0, begin, here);
    kernels::add_on_grid(sum, own, grid, Into::fresh);
    for (const Incoming& incoming : incoming_)
      kernels::add_on_grid(sum, incoming.range.narrow(0, begin, here), grid, Into::sum);
    kernels::from_integers(sum, grid, own);
  }
}

void GradientSum::finish_reduce(const OnWait& on_wait) {
  if (!reducing_) throw base::BugError("gradients are awaited that were not shared out");
  if (shape_.place.count() > 1) on_wait.during([&] { leaf_exchange_ ? finish_leaf() : await_ranges(); });
  reducing_ = false;
  ++rounds_;
}

void GradientSum::finish_leaf() {
  leaf_exchange_->finish([this](const tensor::Tensor& range) { add(range); });
  if (shape_.ends_in_floats() && range_.dtype() == tensor::Dtype::int64) {
    const tensor::Tensor floats = to_floats(range_, leaf_exchange_->own_range());
    range_.reset();
    range_ = allocate(mine().count, tensor::Dtype::fp32).copy_from(floats);
  }
  leaf_exchange_.reset();
}

void GradientSum::await_ranges() {
  if (shape_.sums_in_place() && !shape_.in_floats()) {
    sum_in_place();
  } else {
    for (Incoming& incoming : incoming_) {
      incoming.transfer.wait();
      add(incoming.range);
    }
  }
  for (PackedReceive& incoming : packed_ranges_) incoming.add_to(range_);
  incoming_.clear();
  packed_ranges_.clear();
  for (comm::Transfer& send : sends_) send.wait();
  for (PackedSend& send : packed_sends_) send.wait();
  sends_.clear();
  packed_sends_.clear();
  if (shape_.sums_in_place()) {
    if (shape_.result == shape::Result::whole) return;
    range_ = allocate(mine().count, tensor::Dtype::fp32).copy_from(range_);  // without what was sent
  }
  sending_.reset();
}

const tensor::Tensor& GradientSum::range() const {
  const std::int64_t due = shape_.reduction == Reduction::each_leaf ? shape_.own_leaves() : 1;
  if (!range_.defined() || reducing_ || rounds_ != due)
    throw base::BugError("a gradient is read before its sum is complete");
  return range_;
}

void GradientSum::include_other(comm::Channel& stages, int peer, std::uint32_t send_tag, std::uint32_t recv_tag,
                                const OnWait& on_wait) {
  if (range().elements() == 0) return;
  if (range_.dtype() == tensor::Dtype::fp32 || shape_.travel != Travel::packed) {
    const tensor::Tensor other = allocate(range_.elements(), range_.dtype());
    on_wait.during([&] {
      comm::Transfer receiving = stages.recv(other, peer, recv_tag), sending = stages.send(range_, peer, send_tag);
      receiving.wait();
      sending.wait();
    });
    return add(other);
  }
  PackedSend sending(range_, new_integers());
  PackedReceive receiving(range_.elements(), new_integers(), stages, peer, recv_tag);
  on_wait.during([&] {
    sending.start(stages, peer, send_tag);
    receiving.wait();
  });
  receiving.add_to(range_);
  sending.wait();
}

tensor::Tensor GradientSum::to_floats(const tensor::Tensor& range, const tensor::Tensor& into) const {
  if (range.dtype() == tensor::Dtype::fp32) return into.copy_from(range);
  kernels::from_integers(range, grid_stretches(plan_, mine(), shifts_), into);
  return into;
}

tensor::Tensor GradientSum::own_sum() const {
  return total_.defined() ? total_ : whole_.defined() ? whole_.narrow(0, mine().begin, mine().count) : range();
}

tensor::Tensor GradientSum::squares() const {
  const tensor::Tensor own = own_sum();
  const kernels::GridStretches stretches = grid_stretches(plan_, mine(), shifts_);
  if (own.dtype() == tensor::Dtype::int64) return kernels::integer_chunk_squares(own, stretches, shape::norm_chunk);
  std::vector<std::int64_t> counts;
  for (const kernels::GridStretch& stretch : stretches) counts.push_back(stretch.count);
  return kernels::chunk_squares(own, counts, shape::norm_chunk);
}

tensor::Tensor GradientSum::total() {
  if (total_.defined()) return total_;
  const tensor::Tensor own = range();
  total_ = own.dtype() == tensor::Dtype::fp32 ? own : to_floats(own, allocate(own.elements(), tensor::Dtype::fp32));
  range_.reset();
  return total_;
}

void GradientSum::start_gather(comm::Channel& replicas, std::uint32_t tag) {
  if (shape_.result != shape::Result::whole) throw base::BugError("the whole sum is not kept in this layout");
  const tensor::Tensor own = range();
  if (sending_.defined()) {
    whole_ = std::exchange(sending_, tensor::Tensor());
  } else {
    whole_ = allocate(plan_.elements(), tensor::Dtype::fp32);
    to_floats(own, whole_.narrow(0, mine().begin, mine().count));
  }
  range_.reset();
  gathers_ = exchange_ranges(replicas, plan_, whole_, tag);
}

tensor::Tensor GradientSum::finish_gather(const OnWait& on_wait) {
  if (!whole_.defined()) throw base::BugError("a whole gradient is awaited that was not asked for");
  if (!gathers_.empty()) on_wait.during([&] {
    for (comm::Transfer& transfer : gathers_) transfer.wait();
  });
  gathers_.clear();
  return whole_;
}

void GradientSum::reset() {
  own_.reset();
  for (tensor::Tensor* buffer : {&sending_, &range_, &total_, &whole_}) buffer->reset();
  rounds_ = 0;
}

}  // namespace troika::sharding
