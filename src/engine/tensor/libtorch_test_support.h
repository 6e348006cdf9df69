// libtorch's tensors beside ours, for tests that it judges: each converts to the other, implicitly, over the same memory.
#pragma once

#include <ATen/ATen.h>

#include "base/error.h"
#include "tensor/tensor.h"

namespace troika::tensor {

inline at::ScalarType theirs(Dtype dtype) {
  constexpr at::ScalarType types[] = {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble, at::kLong, at::kInt, at::kByte};
  return types[static_cast<int>(dtype)];
}
inline Dtype ours(at::ScalarType type) {
  for (int i = 0; i < base::dtype_count; ++i) {
    if (theirs(static_cast<Dtype>(i)) == type) return static_cast<Dtype>(i);
  }
  throw base::BugError("a dtype of libtorch that no tensor has");
}
inline at::IntArrayRef theirs(const Sizes& sizes) { return {sizes.begin(), sizes.size()}; }
inline Sizes ours(at::IntArrayRef sizes) { return {sizes.data(), sizes.size()}; }

inline bool operator==(const Sizes& a, at::IntArrayRef b) { return theirs(a) == b; }
inline bool operator==(at::IntArrayRef a, const Sizes& b) { return a == theirs(b); }

template <>
struct Foreign<at::Tensor> {
  static Tensor from(const at::Tensor& other);
  static at::Tensor to(const Tensor& tensor);
};

inline Tensor ours(const at::Tensor& x) { return Foreign<at::Tensor>::from(x); }
inline at::Tensor theirs(const Tensor& x) { return Foreign<at::Tensor>::to(x); }

// The memory of one of libtorch's tensors, which it keeps alive.
class TheirMemory : public Memory {
 public:
  explicit TheirMemory(const at::Tensor& x)
      : Memory(x.data_ptr(), x.numel() == 0 ? 0 : x.storage().nbytes() - static_cast<std::size_t>(x.storage_offset()) * x.element_size(),
               Device()),
        kept_(x) {}

 private:
  const at::Tensor kept_;
};

inline Tensor Foreign<at::Tensor>::from(const at::Tensor& x) {
  if (!x.defined()) return {};
  return Tensor(std::make_shared<TheirMemory>(x), 0, ours(x.scalar_type()), ours(x.sizes()), ours(x.strides()));
}

inline at::Tensor Foreign<at::Tensor>::to(const Tensor& x) {
  if (!x.defined()) return {};
  return at::from_blob(x.data(), theirs(x.sizes()), theirs(x.strides()), [kept = x](void*) {}, at::TensorOptions().dtype(theirs(x.dtype())));
}

}  // namespace troika::tensor
