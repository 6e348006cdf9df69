// The kernels that move and change elements of any dtype.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "cuda/dispatch.h"
#include "cuda/elements_kernels.h"
#include "cuda/walk.h"

namespace troika::cuda::dispatch {

// An array of any dtype on the device.
struct Elements {
  Dtype dtype = Dtype::fp32;
  void* data = nullptr;
};

// body(T()) with the type of a dtype.
template <class Body>
void with_element(Dtype dtype, const Body& body) {
  base::with_type(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, base::Bf16>) {
      body(Bf16());
    } else if constexpr (std::is_same_v<T, base::Fp16>) {
      body(Fp16());
    } else {
      body(T());
    }
  });
}

// a becomes b's values in its own dtype.
template <class Run>
void copy_elements(const Run& run, const WalkShape& shape, const Elements& a, const Elements& b) {
  with_element(a.dtype, [&](auto to) {
    with_element(b.dtype, [&](auto from) {
      using To = decltype(to);
      using From = decltype(from);
      run(EachPair<CopyElement<To, From>>{{static_cast<To*>(a.data), static_cast<const From*>(b.data)}, shape});
    });
  });
}

// a += scale * b; the scale of integers is 1.
template <class Run>
void add_elements(const Run& run, const WalkShape& shape, const Elements& a, const Elements& b, double scale) {
  with_element(a.dtype, [&](auto to) {
    with_element(b.dtype, [&](auto from) {
      using To = decltype(to);
      using From = decltype(from);
      using Factor = typename AddElement<To, From>::Factor;
      run(EachPair<AddElement<To, From>>{
          {static_cast<To*>(a.data), static_cast<const From*>(b.data), static_cast<Factor>(scale)}, shape});
    });
  });
}

template <class Run>
void fill_elements(const Run& run, const WalkShape& shape, const Elements& a, double value) {
  with_element(a.dtype, [&](auto type) {
    using T = decltype(type);
    run(EachPair<FillElement<T>>{{static_cast<T*>(a.data), converted<T>(value)}, shape});
  });
}

template <class Run>
void multiply_elements(const Run& run, const WalkShape& shape, const Elements& a, double factor) {
  with_element(a.dtype, [&](auto type) {
    using T = decltype(type);
    run(EachPair<MultiplyElement<T>>{{static_cast<T*>(a.data), static_cast<Wide<T>>(factor)}, shape});
  });
}

// The rows named, out of how many, and the elements in each.
struct RowIndex {
  const std::int64_t* row = nullptr;  // on the device
  std::int64_t count = 0, held = 0, width = 0;
};

template <class Run>
void gather_rows(const Run& run, const RowIndex& index, const Elements& to, const Elements& from) {
  with_element(to.dtype, [&](auto type) {
    using T = decltype(type);
    run(MoveRows<T>{static_cast<T*>(to.data), static_cast<const T*>(from.data), index.row, index.count, index.held,
                    index.width, MoveRows<T>::Way::gather});
  });
}

template <class Run>
void scatter_rows(const Run& run, const RowIndex& index, const Elements& to, const Elements& from) {
  with_element(to.dtype, [&](auto type) {
    using T = decltype(type);
    run(MoveRows<T>{static_cast<T*>(to.data), static_cast<const T*>(from.data), index.row, index.count, index.held,
                    index.width, MoveRows<T>::Way::scatter});
  });
}

template <class Run>
void add_rows(const Run& run, const RowIndex& index, const Elements& sum, const Elements& x) {
  with_element(sum.dtype, [&](auto to) {
    with_element(x.dtype, [&](auto from) {
      using To = decltype(to);
      using From = decltype(from);
      run(AddRows<To, From>{static_cast<To*>(sum.data), static_cast<const From*>(x.data), index.row, index.count,
                            index.held, index.width});
    });
  });
}

}  // namespace troika::cuda::dispatch
