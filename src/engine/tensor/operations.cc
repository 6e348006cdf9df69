#include "tensor/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "cpu/flat.h"
#include "cpu/parallel.h"
#include "tensor/copy.h"

namespace troika::tensor {
namespace {

constexpr std::int64_t piece_bytes = 1 << 17;  // of rows that one thread moves at a time

// The type that elements are computed with.
template <class T>
using Number = std::conditional_t<std::is_same_v<T, base::Bf16> || std::is_same_v<T, base::Fp16>, float, T>;

template <class T>
Number<T> number(T x) {
  if constexpr (std::is_same_v<T, Number<T>>) {
    return x;
  } else {
    return base::to_float(x);
  }
}

template <class T>
T element(Number<T> x) {
  if constexpr (std::is_same_v<T, base::Bf16>) {
    return base::to_bf16(x);
  } else if constexpr (std::is_same_v<T, base::Fp16>) {
    return base::to_fp16(x);
  } else {
    return x;
  }
}

// `x` seen with the sizes of `like`: dimensions that it lacks in front have a stride of 0.
Tensor spread(const Tensor& x, const Tensor& like) {
  const auto lacking = static_cast<std::size_t>(like.dims() - x.dims());
  Sizes strides = like.sizes();
  for (std::size_t i = 0; i < strides.size(); ++i) {
    strides[i] = i < lacking ? 0 : x.strides()[i - lacking];
    if (i >= lacking && x.sizes()[i - lacking] != like.sizes()[i])
      throw base::BugError(fmt::format("a tensor of {} added to one of {}", text_of(x.sizes()), text_of(like.sizes())));
  }
  const auto offset = static_cast<char*>(x.data()) - static_cast<char*>(x.memory()->data());
  return Tensor(x.memory(), static_cast<std::size_t>(offset), x.dtype(), like.sizes(), strides);
}

struct Rows {
  Rows(const Tensor& x, const Tensor& index_r) : count(index_r.elements()), held(x.size(0)), index(index_r.contiguous()) {
    row = index.data<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i)
      if (row[i] < 0 || row[i] >= held) throw base::BugError(fmt::format("row {} of a tensor of {}", row[i], text_of(x.sizes())));
  }
  std::int64_t count, held;
  Tensor index;
  const std::int64_t* row;
};

// Rows `i` of `to` and `row[i]` of `from`, or the other way, in pieces on all threads.
template <class Copy>
void each_row(const Rows& rows, std::int64_t row_bytes, const Copy& copy) {
  cpu::parallel_pieces(rows.count, std::max<std::int64_t>(1, piece_bytes / std::max<std::int64_t>(row_bytes, 1)),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) copy(i, rows.row[i]);
                       });
}

}  // namespace

void add(const Tensor& sum, const Tensor& x, double scale) {
  const Tensor other = spread(x, sum);
  if (!sum.is_cpu()) return sum.device().accelerator().add(sum, other, scale);
  base::with_type(sum.dtype(), [&](auto sum_type) {
    base::with_type(x.dtype(), [&](auto x_type) {
      using S = decltype(sum_type);
      using X = decltype(x_type);
      auto* const out = static_cast<S*>(sum.data());
      const auto* const in = static_cast<const X*>(other.data());
      using Wide = std::conditional_t<std::is_same_v<Number<S>, float>, double, Number<S>>;
      const auto factor = static_cast<Wide>(scale);
      const auto total = [=](S one, X two) {
        if (scale == 1) return element<S>(static_cast<Number<S>>(number(one) + static_cast<Number<S>>(number(two))));
        return element<S>(static_cast<Number<S>>(static_cast<Wide>(number(one)) + factor * static_cast<Wide>(number(two))));
      };
      walk(walk_of(sum, other), [&](std::int64_t a, std::int64_t b, const Walk::Dimension& inner, std::int64_t count) {
        S* const to = out + a;
        const X* const from = in + b;
        if (inner.of_a == 1 && inner.of_b == 1) {
          if constexpr (std::is_same_v<S, float> && std::is_same_v<X, float>) {
            if (scale != 1) return cpu::add_scaled(count, to, from, factor);
          }
          for (std::int64_t i = 0; i < count; ++i) to[i] = total(to[i], from[i]);
        } else {
          for (std::int64_t i = 0; i < count; ++i) to[i * inner.of_a] = total(to[i * inner.of_a], from[i * inner.of_b]);
        }
      });
    });
  });
}

void multiply(const Tensor& x, double factor) {
  if (!x.is_cpu()) return x.device().accelerator().multiply(x, factor);
  base::with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    auto* const out = static_cast<T*>(x.data());
    const auto by = static_cast<Number<T>>(factor);
    walk(walk_of(x, x), [&](std::int64_t a, std::int64_t, const Walk::Dimension& inner, std::int64_t count) {
      T* const to = out + a;
      const auto product = [=](T one) { return element<T>(static_cast<Number<T>>(number(one) * by)); };
      if (inner.of_a == 1) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = product(to[i]);
      } else {
        for (std::int64_t i = 0; i < count; ++i) to[i * inner.of_a] = product(to[i * inner.of_a]);
      }
    });
  });
}

Tensor cat(const std::vector<Tensor>& parts, int dim) {
  if (parts.empty()) throw base::BugError("nothing to join");
  const auto place = static_cast<std::size_t>(dim < 0 ? dim + parts[0].dims() : dim);
  Sizes sizes = parts[0].sizes();
  sizes[place] = 0;
  for (const Tensor& part : parts) sizes[place] += part.size(dim);
  const Tensor whole = empty(sizes, parts[0].type());
  std::int64_t begin = 0;
  for (const Tensor& part : parts) {
    whole.narrow(dim, begin, part.size(dim)).copy_from(part);
    begin += part.size(dim);
  }
  return whole;
}

Tensor stack(const std::vector<Tensor>& parts, int dim) {
  if (parts.empty()) throw base::BugError("nothing to stack");
  Sizes sizes = parts[0].sizes();
  sizes.insert(static_cast<std::size_t>(dim < 0 ? dim + parts[0].dims() + 1 : dim), static_cast<std::int64_t>(parts.size()));
  const Tensor whole = empty(sizes, parts[0].type());
  for (std::size_t i = 0; i < parts.size(); ++i) whole.select(dim, static_cast<std::int64_t>(i)).copy_from(parts[i]);
  return whole;
}

Tensor repeat(const Tensor& x, std::int64_t times) {
  return cat(std::vector<Tensor>(static_cast<std::size_t>(times), x));
}

Tensor rows_of(const Tensor& x, const Tensor& index_r) {
  Sizes sizes = x.sizes();
  sizes[0] = index_r.elements();
  const Tensor out = empty(sizes, x.type());
  if (!x.is_cpu()) {
    x.device().accelerator().gather_rows(out, x, index_r);
    return out;
  }
  const Rows rows(x, index_r);
  const Tensor whole = x.contiguous();
  const std::int64_t row_bytes = rows.held == 0 ? 0 : whole.bytes() / rows.held;
  each_row(rows, row_bytes, [&](std::int64_t i, std::int64_t row) {
    std::memcpy(static_cast<char*>(out.data()) + i * row_bytes, static_cast<const char*>(whole.data()) + row * row_bytes,
                static_cast<std::size_t>(row_bytes));
  });
  return out;
}

void set_rows(const Tensor& x, const Tensor& index_r, const Tensor& rows) {
  if (!x.is_cpu()) return x.device().accelerator().scatter_rows(x, index_r, rows);
  const Rows to(x, index_r);
  if (!x.is_contiguous() || x.dtype() != rows.dtype()) {
    for (std::int64_t i = 0; i < to.count; ++i) x.select(0, to.row[i]).copy_from(rows.select(0, i));
    return;
  }
  const Tensor whole = rows.contiguous();
  const auto row_bytes = to.count == 0 ? 0 : static_cast<std::size_t>(whole.bytes() / to.count);
  for (std::int64_t i = 0; i < to.count; ++i)
    std::memcpy(static_cast<char*>(x.data()) + static_cast<std::size_t>(to.row[i]) * row_bytes,
                static_cast<const char*>(whole.data()) + static_cast<std::size_t>(i) * row_bytes, row_bytes);
}

void add_rows(const Tensor& sum, const Tensor& index_r, const Tensor& rows) {
  if (!sum.is_cpu()) return sum.device().accelerator().add_rows(sum, index_r, rows);
  const Rows to(sum, index_r);
  for (std::int64_t i = 0; i < to.count; ++i) add(sum.select(0, to.row[i]), rows.select(0, i));
}

bool equal(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  const Tensor x = a.cpu(), y = b.cpu();
  return base::with_type(a.dtype(), [&](auto type) {
    using T = decltype(type);
    std::atomic<bool> same = true;
    walk(walk_of(x, y), [&](std::int64_t of_x, std::int64_t of_y, const Walk::Dimension& inner, std::int64_t count) {
      const T* const left = static_cast<const T*>(x.data()) + of_x;
      const T* const right = static_cast<const T*>(y.data()) + of_y;
      for (std::int64_t i = 0; i < count; ++i)
        if (number(left[i * inner.of_a]) != number(right[i * inner.of_b])) return same.store(false);
    });
    return same.load();
  });
}

double value_of(const Tensor& x) {
  if (x.elements() != 1) throw base::BugError(fmt::format("the value of a tensor of {}", text_of(x.sizes())));
  return *x.cpu().to(Dtype::fp64).data<double>();
}

double largest(const Tensor& x) {
  const Tensor numbers = x.cpu().to(Dtype::fp64).contiguous();
  return *std::max_element(numbers.data<double>(), numbers.data<double>() + numbers.elements());
}

double smallest(const Tensor& x) {
  const Tensor numbers = x.cpu().to(Dtype::fp64).contiguous();
  return *std::min_element(numbers.data<double>(), numbers.data<double>() + numbers.elements());
}

}  // namespace troika::tensor
