#include "tensor/sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika::tensor {

Sizes::Sizes(const std::int64_t* first, std::size_t count) : count_(static_cast<int>(count)) {
  if (count > values_.size()) throw base::BugError(fmt::format("a tensor of {} dimensions, of {} at most", count, max_dims));
  std::copy_n(first, count, values_.begin());
}

void Sizes::insert(std::size_t place, std::int64_t value) {
  if (count_ == max_dims) throw base::BugError(fmt::format("a tensor of more than {} dimensions", max_dims));
  std::copy_backward(values_.data() + place, values_.data() + count_, values_.data() + count_ + 1);
  values_[place] = value;
  ++count_;
}

void Sizes::erase(std::size_t place) {
  std::copy(values_.data() + place + 1, values_.data() + count_, values_.data() + place);
  --count_;
}

std::int64_t Sizes::product() const {
  std::int64_t product = 1;
  for (const std::int64_t size : *this) product *= size;
  return product;
}

bool Sizes::operator==(const Sizes& other) const {
  return count_ == other.count_ && std::equal(begin(), end(), other.begin());
}

std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

}  // namespace troika::tensor
