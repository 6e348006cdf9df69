// A shaped piece of memory. A Tensor is a handle: copies and views of it share the elements, which a const handle may change
// too. Reading the handle is safe from any threads; the elements are the caller's to guard.
//
// Dimensions are counted from 0, or from the last as -1. What does not fit (a range outside, other sizes, another dtype) is a
// BugError with the numbers. Nothing is broadcast, and no operation chooses a dtype.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "tensor/memory.h"

namespace troika::tensor {

// The sizes of a tensor's dimensions, or its strides: a list of at most max_dims numbers, held in place.
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

using base::Dtype;

// The properties of a new tensor.
struct TensorType {
  TensorType() = default;
  TensorType(Dtype elements, const Device& place = {}) : dtype(elements), device(place) {}
  TensorType(const Device& place) : device(place) {}
  TensorType of(Dtype elements) const { return {elements, device}; }
  Dtype dtype = Dtype::fp32;
  Device device;
};

// Tensors of other libraries that convert to and from Tensor where a specialisation tells how, sharing the memory:
//   static Tensor from(const Other&);  static Other to(const Tensor&);
template <class Other>
struct Foreign;

class Tensor {
 public:
  Tensor() = default;  // undefined: has no memory, no sizes
  // The first element lies `offset_bytes` into the memory; strides count elements.
  Tensor(std::shared_ptr<const Memory> memory, std::size_t offset_bytes, Dtype dtype, const Sizes& sizes, const Sizes& strides);
  template <class Other, class = decltype(Foreign<Other>::from(std::declval<const Other&>()))>
  Tensor(const Other& other) : Tensor(Foreign<Other>::from(other)) {}
  template <class Other, class = decltype(Foreign<Other>::to(std::declval<const Tensor&>()))>
  operator Other() const {
    return Foreign<Other>::to(*this);
  }

  bool defined() const { return memory_ != nullptr; }
  void reset() { *this = Tensor(); }  // undefined from here on
  Dtype dtype() const { return dtype_; }
  const Device& device() const { return memory_->device(); }
  TensorType type() const { return {dtype_, device()}; }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }

  int dims() const { return static_cast<int>(sizes_.size()); }
  const Sizes& sizes() const { return sizes_; }
  const Sizes& strides() const { return strides_; }
  std::int64_t size(int dim) const { return sizes_[place_of(dim)]; }
  std::int64_t stride(int dim) const { return strides_[place_of(dim)]; }
  std::int64_t elements() const { return elements_; }
  std::int64_t element_bytes() const { return base::bytes_of(dtype_); }
  std::int64_t bytes() const { return elements_ * element_bytes(); }
  bool is_contiguous() const;  // in the order of its dimensions, without gaps

  void* data() const { return data_; }
  template <class T>
  T* data() const {  // BugError when the elements are no T
    check_dtype(base::dtype_of<T>);
    return static_cast<T*>(data_);
  }
  const std::shared_ptr<const Memory>& memory() const { return memory_; }

  // Views.
  Tensor narrow(int dim, std::int64_t begin, std::int64_t count) const;
  Tensor select(int dim, std::int64_t index) const;  // without that dimension
  Tensor operator[](std::int64_t index) const { return select(0, index); }
  Tensor transpose(int dim, int other) const;
  Tensor t() const { return transpose(0, 1); }  // of a matrix
  Tensor unsqueeze(int dim) const;              // with a dimension of size 1 there
  // A view of the same elements in the same order; one size may be -1. BugError where the strides do not allow it.
  Tensor view(const Sizes& sizes) const;
  // The same bytes. Of a narrower dtype the last dimension, which must be contiguous, has more elements.
  Tensor bits_as(Dtype dtype) const;

  // Views where the strides allow it, else copies.
  Tensor reshape(const Sizes& sizes) const;
  Tensor flatten(int first = 0, int last = -1) const;
  // The tensor itself where it is that already, else a contiguous copy.
  Tensor contiguous() const;
  // The tensor itself where it is that already, else a copy: in the same order in memory where that has no gaps, else contiguous.
  Tensor to(Dtype dtype) const;
  Tensor to(const Device& device) const;
  Tensor cpu() const { return to(Device()); }

  Tensor clone() const;  // contiguous

  // Converts: floats to halves rounded to nearest, to integers towards zero. Returns the handle.
  const Tensor& copy_from(const Tensor& other) const;
  const Tensor& fill(double value) const;
  const Tensor& zero() const { return fill(0); }

 private:
  std::size_t place_of(int dim) const;
  void check_dtype(Dtype wanted) const;

  std::shared_ptr<const Memory> memory_;
  void* data_ = nullptr;
  std::int64_t elements_ = 0;
  Sizes sizes_, strides_;
  Dtype dtype_ = Dtype::fp32;
};

// New, contiguous.
Tensor empty(const Sizes& sizes, const TensorType& type = {});  // uninitialised
Tensor full(const Sizes& sizes, double value, const TensorType& type = {});
Tensor zeros(const Sizes& sizes, const TensorType& type = {});
Tensor ones(const Sizes& sizes, const TensorType& type = {});
Tensor empty_like(const Tensor& like);  // same sizes and type
// first, first + step, ...
Tensor range(std::int64_t count, const TensorType& type, double first = 0, double step = 1);

// A tensor of one dimension, on the host.
template <class T>
Tensor of(const T* values, std::int64_t count);
template <class T>
Tensor of(const std::vector<T>& values) {
  return of(values.data(), static_cast<std::int64_t>(values.size()));
}

// Memory of the host that somebody else owns: it must live until the last view of it is gone, when `release` is called.
Tensor borrow(void* data, const Sizes& sizes, Dtype dtype, std::function<void()> release = {});

}  // namespace troika::tensor
