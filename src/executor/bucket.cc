#include "executor/bucket.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "sharding/range_exchange.h"
#include "tensor/booked.h"

namespace troika::executor {
namespace {

std::vector<optimizer::Stretch> stretches(const model::SegmentLayout& layout, const sharding::Range& held) {
  std::vector<optimizer::Stretch> result;
  for (const model::Slot& slot : layout.slots) {
    const std::int64_t begin = std::max(slot.offset, held.begin);
    const std::int64_t end = std::min(slot.offset + slot.elements(), held.end());
    if (begin < end) result.push_back({end - begin, slot.info.decays});
  }
  return result;
}

}  // namespace

sharding::ShardPlan shard_plan(const model::SegmentLayout& layout, int replicas) {
  std::vector<std::int64_t> parts;
  for (const model::Slot& slot : layout.slots) parts.push_back(slot.elements());
  return {parts, replicas};
}

Bucket::Bucket(model::SegmentLayout layout, Content content, const BucketSettings& settings, tensor::Ledger& ledger)
    : layout_(std::move(layout)),
      content_(content),
      zero_(settings.zero),
      replicas_(settings.sum.place.count()),
      settings_(settings),
      ledger_(ledger),
      sum_(shard_plan(layout_, replicas_), settings.sum, settings.device, ledger) {
  held_ = shared_out() ? sum_.mine() : sharding::Range{0, layout_.elements};
  if (content == Content::gradients) return;
  const at::Tensor stored = tensor::booked_empty(sharded() ? held_.count : layout_.elements, settings.dtype,
                                                 settings.device, ledger, tensor::Use::parameters);
  if (sharded()) {
    shard_ = stored;
  } else {
    for (Reader& reader : readers_) reader.values = stored;
  }
  own_ = sharded() ? shard_ : stored.narrow(0, held_.begin, held_.count);
  if (content == Content::frozen) return;
  optimizer_ =
      std::make_unique<optimizer::AdamW>(stretches(layout_, held_), own_, settings.optimizer, settings.state, ledger);
}

at::Tensor Bucket::gradient(const OnWait& on_wait) {
  return zero_ == 0 && replicas_ > 1 ? sum_.finish_gather(on_wait) : sum_.total();
}

const at::Tensor& Bucket::values(Use use) const {
  const Reader& reader = readers_[index(use)];
  if (!reader.values.defined() || !reader.transfers.empty()) {
    throw base::BugError(fmt::format("parameters of segment {} are read while they are not here", layout_.segment));
  }
  return reader.values;
}

void Bucket::start_gather(comm::Channel& replicas, std::uint32_t tag, Use use) {
  if (replicas_ == 1) return;
  Reader& reader = readers_[index(use)];
  const sharding::Range mine = sum_.mine();
  if (sharded()) {
    reader.values =
        tensor::booked_empty(layout_.elements, settings_.dtype, settings_.device, ledger_, tensor::Use::parameters);
    reader.values.narrow(0, mine.begin, mine.count).copy_(shard_);
  }
  reader.transfers = sharding::exchange_ranges(replicas, sum_.plan(), reader.values, tag);
}

void Bucket::finish_gather(Use use, const OnWait& on_wait) {
  std::vector<comm::Transfer>& transfers = readers_[index(use)].transfers;
  if (transfers.empty()) return;
  const double begin = base::monotonic_seconds();
  for (comm::Transfer& transfer : transfers) transfer.wait();
  transfers.clear();
  on_wait(begin, base::monotonic_seconds());
}

void Bucket::free(Use use) {
  if (sharded()) readers_[index(use)].values.reset();
}

std::vector<Bucket*> SegmentUnit::buckets() const {
  std::vector<Bucket*> all{bucket.get()};
  if (second_use != nullptr) all.push_back(second_use.get());
  if (adapter != nullptr) all.push_back(adapter.get());
  return all;
}

std::vector<Bucket*> SegmentUnit::written() const {
  std::vector<Bucket*> all = buckets();
  all.erase(std::remove_if(all.begin(), all.end(), [](const Bucket* one) { return !one->has_gradients(); }), all.end());
  return all;
}

std::vector<SegmentUnit::Read> SegmentUnit::read() const {
  std::vector<Read> all{{bucket.get(), Use::first}};
  if (table != nullptr) all.push_back({table, table_use});
  if (adapter != nullptr) all.push_back({adapter.get(), Use::first});
  return all;
}

model::SegmentBuffer SegmentUnit::parameters() const {
  return {bucket->values(Use::first), table == nullptr ? at::Tensor() : table->values(table_use),
          adapter == nullptr ? at::Tensor() : adapter->values(Use::first)};
}

model::SegmentBuffer SegmentUnit::leaves() const {
  const auto leaf = [](Bucket* one) {
    return one == nullptr || !one->has_gradients() ? at::Tensor() : one->sum().leaf();
  };
  return {leaf(bucket.get()), leaf(second_use.get()), leaf(adapter.get())};
}

}  // namespace troika::executor
