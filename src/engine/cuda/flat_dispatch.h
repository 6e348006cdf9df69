// The kernels that run for flat arrays (kernels/flat.h).
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/dispatch.h"
#include "cuda/walk.h"
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

// The room that sum_of_parts needs.
inline std::int64_t sum_of_parts_floats(std::int64_t count, std::size_t parts) {
  return parts > SumOfParts<float, float>::most ? count : 0;
}

// sum = the parts, added in their order in fp32 and rounded once, all of `dtype`; it may be one of them. What one kernel does not
// read goes through `room` in fp32.
template <class Run>
void sum_of_parts(const Run& run, std::int64_t count, const std::vector<const void*>& parts, Dtype dtype, void* sum,
                  float* room) {
  with_number(dtype, [&](auto type) {
    using T = decltype(type);
    const auto add = [&](std::size_t begin, std::size_t end, auto* into) {
      using Kernel = SumOfParts<T, std::remove_pointer_t<decltype(into)>>;
      Kernel of{begin == 0 ? nullptr : room, {}, static_cast<int>(end - begin), into};
      for (std::size_t r = begin; r < end; ++r) of.part[r - begin] = static_cast<const T*>(parts[r]);
      const auto& x = of.part;
      each_element(run, count, of, {of.before, into, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]});
    };
    constexpr auto most = static_cast<std::size_t>(SumOfParts<T, T>::most);
    std::size_t begin = 0;
    for (; parts.size() - begin > most; begin += most) add(begin, begin + most, room);
    add(begin, parts.size(), static_cast<T*>(sum));
  });
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

// take(stretches that one argument holds, pieces before them): all of `list`, in order; they follow each other from element 0 on.
template <class Value, class Take>
void in_arguments(const std::vector<Stretch<Value>>& list, std::int64_t piece, const Take& take) {
  std::int64_t begin = 0, pieces = 0;
  for (std::size_t first = 0; first < list.size(); first += Stretches<Value>::most) {
    Stretches<Value> some;
    some.piece = piece;
    some.begin[0] = begin;
    for (std::size_t i = first; i < list.size() && some.count < Stretches<Value>::most; ++i) {
      some.value[some.count] = list[i].value;
      const std::int64_t before = some.first_piece[some.count++];
      some.begin[some.count] = begin += list[i].count;
      some.first_piece[some.count] = before + blocks_for(list[i].count, piece);
    }
    take(some, pieces);
    pieces += some.pieces();
  }
}

// Four elements at once where pointers and stretches allow it.
template <class Value>
bool vectors_fit(const std::vector<Stretch<Value>>& list, std::initializer_list<const void*> pointers) {
  bool fit = vectors_fit(4, pointers, {});
  for (std::size_t i = 0; i + 1 < list.size(); ++i) fit = fit && list[i].count % 4 == 0;
  return fit;
}

template <int n, class Run, class Value, class Of>
void each_of_stretches(const Run& run, const std::vector<Stretch<Value>>& list, const Of& of) {
  using Kernel = EachOfStretches<Of, Value, n>;
  in_arguments(list, Kernel::piece, [&](const Stretches<Value>& some, std::int64_t) { run(Kernel{of, some}); });
}

template <class Run, class Value, class Of>
void each_of_stretches(const Run& run, const std::vector<Stretch<Value>>& list, const Of& of,
                       std::initializer_list<const void*> pointers) {
  vectors_fit(list, pointers) ? each_of_stretches<4>(run, list, of) : each_of_stretches<1>(run, list, of);
}

template <class Run, class Value, class Elements>
void squares_of_chunks(const Run& run, const std::vector<Stretch<Value>>& list, const Elements& x, std::int64_t chunk,
                       double* squares) {
  in_arguments(list, chunk, [&](const Stretches<Value>& some, std::int64_t before) {
    run(ChunkSquares<Elements, Value>{x, squares + before, some});
  });
}

// Squares of consecutive chunks of `chunk` elements (the last of a stretch may be shorter) into squares[] on the device, each
// summed in double in the order of cpu::chunk_squares. The stretches' values are not read.
template <class Run>
void chunk_squares(const Run& run, const std::vector<Stretch<float>>& list, const float* x, std::int64_t chunk, double* squares) {
  squares_of_chunks(run, list, FloatElements{x}, chunk, squares);
}

// The parameters of a stretch are multiplied by its value. Writes rounded = the new parameter in `dtype`, too.
template <class Run>
void adamw(const Run& run, const AdamWNumbers& a, const std::vector<Stretch<float>>& list, const AdamWState& state, Dtype dtype,
           void* rounded) {
  with_number(dtype, [&](auto type) {
    using T = decltype(type);
    each_of_stretches(run, list, AdamW<T>{a, state, static_cast<T*>(rounded)},
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
