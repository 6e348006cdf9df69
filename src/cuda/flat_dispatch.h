// Which kernels run for flat.h.
#pragma once

#include <cstdint>

#include "cuda/dispatch.h"
#include "cuda/each_element.h"
#include "cuda/flat.h"
#include "cuda/flat_kernels.h"

namespace troika::cuda::dispatch {

// Four elements at once where the pointers allow it.
template <class Run, class Of>
void each_element(const Run& run, std::int64_t count, const Of& of, std::initializer_list<const void*> pointers) {
  if (vectors_fit(4, pointers, {})) {
    run(EachElement<Of, 4>{of, count});
  } else {
    run(EachElement<Of, 1>{of, count});
  }
}

template <class Run>
void add_into(const Run& run, std::int64_t count, float* sum, const float* other) {
  each_element(run, count, AddInto{sum, other}, {sum, other});
}

// *sum, which is below 2^32, += the sum of elements of 2 or 4 bytes as integers, modulo 2^32.
template <class Run>
void bits_sum(const Run& run, std::int64_t count, std::int64_t bytes, const void* elements, std::int64_t* sum) {
  if (bytes == 2) {
    run(BitsSum<std::uint16_t>{static_cast<const std::uint16_t*>(elements), sum, count});
  } else {
    run(BitsSum<std::uint32_t>{static_cast<const std::uint32_t*>(elements), sum, count});
  }
}

// Squares of consecutive chunks of `chunk` elements (the last may be shorter) into squares[] on the device, each summed
// in double in the order of cpu::chunk_squares.
template <class Run>
void chunk_squares(const Run& run, std::int64_t count, const float* x, std::int64_t chunk, double* squares) {
  run(ChunkSquares<FloatElements>{{x}, squares, count, chunk});
}

// Writes rounded = the new parameter in `dtype`, too.
template <class Run>
void adamw(const Run& run, const AdamWNumbers& a, std::int64_t count, const AdamWState& state, Dtype dtype,
           void* rounded) {
  with_number(dtype, [&](auto type) {
    using T = decltype(type);
    each_element(run, count, AdamW<T>{a, state, static_cast<T*>(rounded)},
                 {state.parameter, state.gradient, state.m, state.v, rounded});
  });
}

// rounded = master in `dtype`, to nearest, ties to even.
template <class Run>
void round_into(const Run& run, std::int64_t count, const float* master, Dtype dtype, void* rounded) {
  with_number(dtype, [&](auto type) {
    using T = decltype(type);
    each_element(run, count, RoundInto<T>{master, static_cast<T*>(rounded)}, {master, rounded});
  });
}

}  // namespace troika::cuda::dispatch
