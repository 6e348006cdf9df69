// The sizes of a tensor's dimensions, or its strides: a list of at most max_dims numbers, held in place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace troika::tensor {

inline constexpr int max_dims = 6;

class Sizes {
 public:
  Sizes() = default;
  Sizes(std::initializer_list<std::int64_t> sizes) : Sizes(sizes.begin(), sizes.size()) {}
  Sizes(const std::vector<std::int64_t>& sizes) : Sizes(sizes.data(), sizes.size()) {}
  Sizes(const std::int64_t* first, std::size_t count);  // BugError for more than max_dims

  std::size_t size() const { return static_cast<std::size_t>(count_); }
  bool empty() const { return count_ == 0; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  std::int64_t back() const { return values_[size() - 1]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + count_; }
  std::vector<std::int64_t> vec() const { return {begin(), end()}; }

  Sizes slice(std::size_t first, std::size_t count) const { return {begin() + first, count}; }
  void insert(std::size_t place, std::int64_t value);
  void erase(std::size_t place);

  std::int64_t product() const;

  bool operator==(const Sizes& other) const;
  bool operator!=(const Sizes& other) const { return !(*this == other); }

 private:
  std::array<std::int64_t, max_dims> values_{};
  int count_ = 0;
};

std::string text_of(const Sizes& sizes);  // "[2, 3]"

}  // namespace troika::tensor
