#include "executor/segment_unit.h"

#include <algorithm>

#include "tensor/tensor.h"

namespace troika::executor {

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
