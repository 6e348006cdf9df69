#include "tensor/copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "cpu/parallel.h"
#include "cpu/flat.h"

namespace troika::tensor {
namespace {

constexpr std::int64_t piece_elements = 1 << 15;  // what one thread does at a time

template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, base::Bf16> || std::is_same_v<From, base::Fp16>) {
    return converted<To>(base::to_float(x));
  } else if constexpr (std::is_same_v<To, base::Bf16>) {
    return base::to_bf16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, base::Fp16>) {
    return base::to_fp16(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From>
void copy_row(To* to, const From* from, const Walk::Dimension& inner, std::int64_t count) {
  if (inner.of_a == 1 && inner.of_b == 1) {
    if constexpr (std::is_same_v<To, From>) {
      std::memmove(to, from, static_cast<std::size_t>(count) * sizeof(To));
    } else if constexpr (std::is_same_v<From, float> && sizeof(To) == 2) {
      cpu::round_to_halves(count, from, to);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = converted<To>(from[i]);
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i * inner.of_a] = converted<To>(from[i * inner.of_b]);
}

// A matrix whose columns are the rows of the other: in blocks that the first cache holds of both.
template <class To, class From>
void copy_turned(To* to, const From* from, const Walk::Dimension& outer, const Walk::Dimension& inner) {
  constexpr std::int64_t block = 32;
  cpu::parallel_pieces(outer.size, std::max<std::int64_t>(block, piece_elements / std::max<std::int64_t>(inner.size, 1) / block * block),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t first = begin; first < end; first += block) {
                           for (std::int64_t column = 0; column < inner.size; column += block) {
                             const std::int64_t columns = std::min(block, inner.size - column);
                             for (std::int64_t row = first; row < std::min(first + block, end); ++row)
                               copy_row(to + row * outer.of_a + column * inner.of_a, from + row * outer.of_b + column * inner.of_b,
                                        inner, columns);
                           }
                         }
                       });
}

}  // namespace

Walk walk_of(const Tensor& a, const Tensor& b) {
  std::vector<Walk::Dimension> all;
  for (int i = 0; i < a.dims(); ++i)
    if (a.size(i) != 1) all.push_back({a.size(i), a.stride(i), b.stride(i)});
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.of_a > y.of_a; });
  Walk walk;
  for (const Walk::Dimension& next : all) {
    if (!walk.dimensions.empty()) {
      Walk::Dimension& last = walk.dimensions.back();
      if (last.of_a == next.size * next.of_a && last.of_b == next.size * next.of_b) {
        last = {last.size * next.size, next.of_a, next.of_b};
        continue;
      }
    }
    walk.dimensions.push_back(next);
  }
  if (walk.dimensions.empty()) walk.dimensions.push_back({1, 1, 1});
  return walk;
}

void walk(const Walk& walk, const std::function<void(std::int64_t a, std::int64_t b, const Walk::Dimension& inner, std::int64_t count)>& visit) {
  const Walk::Dimension inner = walk.dimensions.back();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < walk.dimensions.size(); ++i) rows *= walk.dimensions[i].size;
  if (rows == 0 || inner.size == 0) return;
  const std::size_t outer = walk.dimensions.size() - 1;
  const auto each_row = [&](std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t count) {
    std::int64_t at[max_dims] = {}, a = first * inner.of_a, b = first * inner.of_b, rest = begin;
    for (std::size_t i = outer; i-- > 0; rest /= walk.dimensions[i].size) {
      at[i] = rest % walk.dimensions[i].size;
      a += at[i] * walk.dimensions[i].of_a;
      b += at[i] * walk.dimensions[i].of_b;
    }
    for (std::int64_t row = begin; row < end; ++row) {
      visit(a, b, inner, count);
      for (std::size_t i = outer; i-- > 0;) {  // as a counter with a digit for each dimension
        const Walk::Dimension& digit = walk.dimensions[i];
        a += digit.of_a;
        b += digit.of_b;
        if (++at[i] < digit.size) break;
        at[i] = 0;
        a -= digit.size * digit.of_a;
        b -= digit.size * digit.of_b;
      }
    }
  };
  if (rows * inner.size <= piece_elements) return each_row(0, rows, 0, inner.size);
  if (inner.size >= piece_elements) {
    const std::int64_t pieces = (inner.size + piece_elements - 1) / piece_elements;
    return cpu::parallel_for(rows * pieces, [&](std::int64_t i) {
      const std::int64_t first = i % pieces * piece_elements;
      each_row(i / pieces, i / pieces + 1, first, std::min(piece_elements, inner.size - first));
    });
  }
  cpu::parallel_pieces(rows, piece_elements / inner.size,
                       [&](std::int64_t begin, std::int64_t end) { each_row(begin, end, 0, inner.size); });
}

void copy_on_host(const Tensor& to, const Tensor& from) {
  if (to.elements() == 0) return;
  const Walk both = walk_of(to, from);
  base::with_type(to.dtype(), [&](auto to_type) {
    base::with_type(from.dtype(), [&](auto from_type) {
      using To = decltype(to_type);
      using From = decltype(from_type);
      auto* const out = static_cast<To*>(to.data());
      const auto* const in = static_cast<const From*>(from.data());
      const auto& dimensions = both.dimensions;
      if (dimensions.size() == 2 && dimensions[0].of_b == 1 && dimensions[1].of_b != 1)
        return copy_turned(out, in, dimensions[0], dimensions[1]);
      walk(both, [&](std::int64_t a, std::int64_t b, const Walk::Dimension& inner, std::int64_t count) {
        copy_row(out + a, in + b, inner, count);
      });
    });
  });
}

void fill_on_host(const Tensor& tensor, double value) {
  if (tensor.elements() == 0) return;
  base::with_type(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    const T element = converted<T>(value);
    auto* const out = static_cast<T*>(tensor.data());
    walk(walk_of(tensor, tensor), [&](std::int64_t a, std::int64_t, const Walk::Dimension& inner, std::int64_t count) {
      if (inner.of_a == 1) {
        value == 0 ? static_cast<void>(std::memset(static_cast<void*>(out + a), 0, static_cast<std::size_t>(count) * sizeof(T)))
                   : static_cast<void>(std::fill_n(out + a, count, element));
        return;
      }
      for (std::int64_t i = 0; i < count; ++i) out[a + i * inner.of_a] = element;
    });
  });
}

}  // namespace troika::tensor
