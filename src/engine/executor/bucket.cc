#include "executor/bucket.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "sharding/leaf_exchange.h"

namespace troika::executor {
namespace {

std::vector<Bucket::HeldSlot> slots_in(const shape::SegmentLayout& layout, const shape::Range& held) {
  std::vector<Bucket::HeldSlot> result;
  for (std::size_t i = 0; i < layout.slots.size(); ++i) {
    const shape::Slot& slot = layout.slots[i];
    const std::int64_t begin = std::max(slot.offset, held.begin);
    const std::int64_t end = std::min(slot.offset + slot.elements(), held.end());
    if (begin < end) result.push_back({i, {begin - held.begin, end - begin}});
  }
  return result;
}

std::vector<optimizer::Stretch> stretches(const shape::SegmentLayout& layout, const shape::Range& held) {
  std::vector<optimizer::Stretch> result;
  for (const Bucket::HeldSlot& part : slots_in(layout, held))
    result.push_back({part.elements.count, layout.slots[part.slot].info.decays});
  return result;
}

}  // namespace

Bucket::Bucket(shape::SegmentLayout layout, Content content, const BucketSettings& settings, tensor::Ledger& ledger)
    : layout_(std::move(layout)),
      content_(content),
      zero_(settings.zero),
      replicas_(settings.sum.place.count()),
      settings_(settings),
      ledger_(ledger),
      sum_(shape::shard_plan(layout_, replicas_, shape::shape_of(settings.optimizer.name).division), settings.sum,
           settings.streams->device(), ledger) {
  held_ = holds_range() ? sum_.mine() : shape::Range{0, layout_.elements};
  const tensor::Tensor stored = tensor::booked_empty(shards_values() ? held_.count : layout_.elements, settings.dtype,
                                                     settings.streams->device(), ledger, tensor::MemoryUse::parameters);
  if (shards_values()) {
    shard_ = stored;
  } else {
    for (Reader& reader : readers_) reader.values = stored;
  }
  own_ = shards_values() ? shard_ : stored.narrow(0, held_.begin, held_.count);
  if (content == Content::frozen) return;
  optimizer_ = std::make_unique<optimizer::Optimizer>(stretches(layout_, held_), own_, settings.optimizer,
                                                      settings.state, settings.checksums, *settings.streams, ledger);
}

std::vector<Bucket::HeldSlot> Bucket::held_slots() const { return slots_in(layout_, held_); }

tensor::Tensor Bucket::gradient(const sharding::OnWait& on_wait) {
  return zero_ == 0 && replicas_ > 1 ? sum_.finish_gather(on_wait) : sum_.total();
}

const tensor::Tensor& Bucket::values(ReadBy by) const {
  const Reader& reader = readers_[index(by)];
  if (!reader.values.defined() || !reader.transfers.empty())
    throw base::BugError(fmt::format("parameters of segment {} are read while they are not here", layout_.segment));
  return reader.values;
}

void Bucket::start_gather(comm::Channel& replicas, std::uint32_t tag, ReadBy by) {
  if (replicas_ == 1) return;
  Reader& reader = readers_[index(by)];
  const shape::Range mine = sum_.mine();
  if (shards_values()) {
    reader.values = tensor::booked_empty(layout_.elements, settings_.dtype, settings_.streams->device(), ledger_,
                                         tensor::MemoryUse::parameters);
    reader.values.narrow(0, mine.begin, mine.count).copy_from(shard_);
  }
  reader.transfers = sharding::exchange_ranges(replicas, sum_.plan(), reader.values, tag);
}

void Bucket::finish_gather(ReadBy by, const sharding::OnWait& on_wait) {
  std::vector<comm::Transfer>& transfers = readers_[index(by)].transfers;
  if (transfers.empty()) return;
  on_wait.during([&] {
    for (comm::Transfer& transfer : transfers) transfer.wait();
    transfers.clear();
  });
}

void Bucket::free(ReadBy by) {
  if (shards_values()) readers_[index(by)].values.reset();
}

std::vector<Bucket*> SegmentUnit::buckets() const {
  std::vector<Bucket*> all{bucket.get()};
  if (table_copy != nullptr) all.push_back(table_copy.get());
  if (adapter != nullptr) all.push_back(adapter.get());
  return all;
}

std::vector<Bucket*> SegmentUnit::trained() const {
  std::vector<Bucket*> all = buckets();
  all.erase(std::remove_if(all.begin(), all.end(), [](const Bucket* one) { return !one->is_trained(); }), all.end());
  return all;
}

std::vector<Bucket*> SegmentUnit::written() const {
  std::vector<Bucket*> all = trained();
  if (table != nullptr && table != table_copy.get() && table->is_trained()) all.push_back(table);
  return all;
}

std::vector<SegmentUnit::Read> SegmentUnit::read() const {
  std::vector<Read> all{{bucket.get(), ReadBy::own_segment}};
  if (table != nullptr) all.push_back({table, table_read_by});
  if (adapter != nullptr) all.push_back({adapter.get(), ReadBy::own_segment});
  return all;
}

model::SegmentBuffer SegmentUnit::parameters() const {
  return {bucket->values(ReadBy::own_segment), table == nullptr ? tensor::Tensor() : table->values(table_read_by),
          adapter == nullptr ? tensor::Tensor() : adapter->values(ReadBy::own_segment)};
}

model::SegmentLeaves SegmentUnit::leaves() const {
  const auto leaf = [](Bucket* one) { return one == nullptr || !one->is_trained() ? nullptr : &one->sum().leaf(); };
  return {leaf(bucket.get()), leaf(table), leaf(adapter.get())};
}

}  // namespace troika::executor
