// The choice of a kernel's instance. For each operation of x.h, x_dispatch.h has a function of the same name that makes
// its kernels and gives each, in order, to `run`: OnDevice (gpu/operations.h) or, in tests, a host grid. Device code is made of one
// entry for each kernel (block.h), and whoever loads it finds the entry of a kernel by its type.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "base/error.h"
#include "cuda/number.h"

namespace troika::cuda {

// The symbol of `void troika_kernel<Kernel>(Kernel)` for a kernel of this type, as the C++ ABI of Linux spells it: what
// nvcc calls the entry (kernels.cu).
std::string entry_symbol(const std::type_info& kernel);

template <class Kernel>
const char* entry_of() {
  static const std::string symbol = entry_symbol(typeid(Kernel));
  return symbol.c_str();
}

}  // namespace troika::cuda

namespace troika::cuda::dispatch {

// body(T()) with the type of a dtype; BugError for one that no kernel takes.
template <class Body>
void with_number(Dtype dtype, const Body& body) {
  switch (dtype) {
    case Dtype::fp32:
      return body(float());
    case Dtype::bf16:
      return body(Bf16());
    case Dtype::fp16:
      return body(Fp16());
    default:
      throw base::BugError(std::string("no kernel for GPUs takes ") + base::name_of(dtype));
  }
}

template <int n>
using Width = std::integral_constant<int, n>;

// Whether vectors of n elements fit: pointers (null ones do) on 16 bytes, row lengths and strides multiples of n.
inline bool vectors_fit(int n, std::initializer_list<const void*> pointers,
                        std::initializer_list<std::int64_t> lengths) {
  for (const void* pointer : pointers) {
    if (reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0) return false;
  }
  for (const std::int64_t length : lengths) {
    if (length % n != 0) return false;
  }
  return true;
}

// body(Width<n>()): as many elements as 16 bytes hold where vectors fit, else one.
template <class T, class Body>
void with_width(std::initializer_list<const void*> pointers, std::initializer_list<std::int64_t> lengths,
                const Body& body) {
  constexpr int n = static_cast<int>(16 / sizeof(T));
  if (vectors_fit(n, pointers, lengths)) return body(Width<n>());
  body(Width<1>());
}

// body(T(), Width<n>()): both of these.
template <class Body>
void with_vectors(Dtype dtype, std::initializer_list<const void*> pointers, std::initializer_list<std::int64_t> lengths,
                  const Body& body) {
  with_number(dtype, [&](auto type) { with_width<decltype(type)>(pointers, lengths, [&](auto n) { body(type, n); }); });
}

}  // namespace troika::cuda::dispatch
