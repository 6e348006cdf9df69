// A row's sums run over the inputs in one order: with [O, I] sixteen partial sums, each over every sixteenth input; with
// [I, O] one for every inputs_per_piece. How many rows and outputs are in registers at a time changes nothing about that.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/few_rows.cc"
#include "cpu/gemm.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/arrays.h"
#include "cpu/lanes16-inl.h"
#include "cpu/parallel.h"

#ifndef TROIKA_CPU_FEW_ROWS_ONCE
#define TROIKA_CPU_FEW_ROWS_ONCE
namespace troika::cpu {

struct Fp16 {
  std::uint16_t bits;
};

// Rows of x are a whole number of 16 elements apart, padded with zeros. panel: outputs whose sums are in the cache, of [I, O].
struct FewRowsCall {
  std::int64_t M, I, O, x_stride, y_stride, panel;
  const float *x, *bias;
  const void* w;
  float* y;
};

// Of [O, I]. A task is what threads may differ by at the end; bytes ahead are asked for into the second cache.
constexpr std::int64_t outputs_per_block = 8, bytes_per_task = 64 << 10, bytes_ahead = 8 << 10;
constexpr std::int64_t inputs_per_piece = 128;                         // of [I, O]

}  // namespace troika::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {

template <class Element>
HWY_INLINE F16 weights16(const Element* p) {
  return load16(p);
}
HWY_INLINE F16 weights16(const Fp16* p) {
  const hn::Rebind<hwy::float16_t, Part> half;
  F16 x;
  for (std::size_t i = 0; i < F16::count; ++i)
    x.part[i] = hn::PromoteTo(Part(), hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(p + i * part_lanes)));
  return x;
}
// The first `count` of sixteen; zeros after them.
template <class Element>
HWY_INLINE F16 weights16(const Element* p, std::int64_t count) {
  if (count >= 16) return weights16(p);
  Element copy[16] = {};
  std::memcpy(copy, p, sizeof(Element) * static_cast<std::size_t>(count));
  return weights16(copy);
}

// How many rows are in registers at a time, and how many vectors of outputs beside them. One row alone is bound by memory,
// which delivers most where few rows of the weight are read at once.
constexpr int most_rows = part_lanes == 16 ? 8 : part_lanes == 8 ? 4 : 2;
constexpr int vectors_beside(int rows) { return rows == 1 ? most_rows : std::max(1, 2 * most_rows / rows); }
constexpr int outputs_of_one_row = 2;

// function(std::integral_constant<int, rows>, first) for the rows [first, first + rows), together [0, M).
template <int rows, class Function>
HWY_INLINE void in_groups(std::int64_t first, std::int64_t M, const Function& function) {
  for (; first + rows <= M; first += rows) function(std::integral_constant<int, rows>(), first);
  if constexpr (rows > 1) in_groups<rows / 2>(first, M, function);
}

// [O, I]: `rows` rows of x with `outputs` rows of the weight, of which the first rows of x ask for what follows.
template <int rows, int outputs, class Element>
HWY_INLINE void dot_products(const FewRowsCall& call, std::int64_t m, std::int64_t o) {
  constexpr std::int64_t line = 64 / sizeof(Element), ahead = bytes_ahead / sizeof(Element);
  const Element* w = static_cast<const Element*>(call.w) + o * call.I;
  const float* x = call.x + m * call.x_stride;
  F16 sums[rows][outputs];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < outputs; ++j) sums[i][j] = set16(0);
  const auto add = [&](std::int64_t k, const F16(&wk)[outputs]) HWY_ATTR {
    for (int i = 0; i < rows; ++i) {
      const F16 xk = load16(x + i * call.x_stride + k);
      for (int j = 0; j < outputs; ++j) sums[i][j] = mul_add(xk, wk[j], sums[i][j]);
    }
  };
  const auto add_whole = [&](std::int64_t k) HWY_ATTR {
    F16 wk[outputs];
    for (int j = 0; j < outputs; ++j) wk[j] = weights16(w + j * call.I + k);
    add(k, wk);
  };
  std::int64_t k = 0;
  for (; m == 0 && k + line <= call.I; k += line) {
    for (int j = 0; j < outputs; ++j) __builtin_prefetch(w + j * call.I + k + ahead, 0, 2);
    for (std::int64_t part = 0; part < line; part += 16) add_whole(k + part);
  }
  for (; k + 16 <= call.I; k += 16) add_whole(k);
  if (k < call.I) {
    F16 wk[outputs];
    for (int j = 0; j < outputs; ++j) wk[j] = weights16(w + j * call.I + k, call.I - k);
    add(k, wk);
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < outputs; ++j)
      call.y[(m + i) * call.y_stride + o + j] = sum(sums[i][j]) + (call.bias == nullptr ? 0.0f : call.bias[o + j]);
}

template <int rows, int outputs, class Element>
HWY_INLINE void dot_products_between(const FewRowsCall& call, std::int64_t m, std::int64_t o, std::int64_t end) {
  for (; o + outputs <= end; o += outputs) dot_products<rows, outputs, Element>(call, m, o);
  for (; o < end; ++o) dot_products<rows, 1, Element>(call, m, o);
}

// Few rows of the weight at a time, so that all rows of x meet them in the cache.
template <class Element>
void outputs_by_rows(const FewRowsCall& call, std::int64_t begin, std::int64_t end) {
  if (call.M == 1) return dot_products_between<1, outputs_of_one_row, Element>(call, 0, begin, end);
  for (std::int64_t first = begin; first < end; first += outputs_per_block) {
    in_groups<most_rows>(0, call.M, [&](auto rows, std::int64_t m) HWY_ATTR {
      const std::int64_t last = std::min(first + outputs_per_block, end);
      dot_products_between<rows, vectors_beside(rows), Element>(call, m, first, last);
    });
  }
}

// [I, O]: adds the inputs [k, k + count) to the outputs [begin, end) of all rows. The weight is read along its rows.
template <int count, class Element>
HWY_INLINE void add_inputs(const FewRowsCall& call, std::int64_t k, std::int64_t begin, std::int64_t end, float* sums) {
  const Element* w = static_cast<const Element*>(call.w) + k * call.O;
  for (std::int64_t o = begin; o < end; o += 16) {
    F16 wk[count];
    for (int j = 0; j < count; ++j) wk[j] = weights16(w + j * call.O + o, end - o);
    for (std::int64_t m = 0; m < call.M; ++m) {
      float* at = sums + m * call.panel + o - begin;
      F16 sum = load16(at);
      for (int j = 0; j < count; ++j) sum = mul_add(set16(call.x[m * call.x_stride + k + j]), wk[j], sum);
      store16(sum, at);
    }
  }
}

// sums: rows call.panel apart.
template <class Element>
void sums_of_inputs(const FewRowsCall& call, std::int64_t k, std::int64_t k_end, std::int64_t begin, std::int64_t end,
                    float* sums) {
  std::fill_n(sums, call.M * call.panel, 0.0f);
  for (; k + 4 <= k_end; k += 4) add_inputs<4, Element>(call, k, begin, end, sums);
  for (; k < k_end; ++k) add_inputs<1, Element>(call, k, begin, end, sums);
}

// function(element) with a null pointer to the weight's elements.
template <class Function>
HWY_INLINE void with_element(Dtype element, const Function& function) {
  if (element == Dtype::bf16) return function(static_cast<const Bf16*>(nullptr));
  if (element == Dtype::fp16) return function(static_cast<const Fp16*>(nullptr));
  function(static_cast<const float*>(nullptr));
}

void few_rows_outputs(const FewRowsCall& call, Dtype element, std::int64_t begin, std::int64_t end) {
  with_element(element, [&](auto* p) HWY_ATTR { outputs_by_rows<std::decay_t<decltype(*p)>>(call, begin, end); });
}

void few_rows_inputs(const FewRowsCall& call, Dtype element, std::int64_t k, std::int64_t begin,
                     float* sums) {
  const std::int64_t k_end = std::min(k + inputs_per_piece, call.I), end = std::min(begin + call.panel, call.O);
  with_element(element,
               [&](auto* p) HWY_ATTR { sums_of_inputs<std::decay_t<decltype(*p)>>(call, k, k_end, begin, end, sums); });
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {

HWY_EXPORT(few_rows_outputs);
HWY_EXPORT(few_rows_inputs);

namespace {

void by_outputs(const FewRowsCall& call, Dtype element) {
  const std::int64_t row_bytes = std::max<std::int64_t>(call.I * base::bytes_of(element), 1);
  const std::int64_t blocks = std::clamp<std::int64_t>(bytes_per_task / row_bytes / outputs_per_block, 1, 16);
  parallel_streams(call.O, blocks * outputs_per_block, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(few_rows_outputs)(call, element, begin, end);
  });
}

// y[m, o] = bias[o] + the sums of all pieces of the inputs, in their order.
void add_pieces(const FewRowsCall& call, std::int64_t pieces, const std::vector<float>& sums) {
  const std::int64_t panel_size = call.M * call.panel;
  parallel_pieces(call.O, call.panel, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = 0; m < call.M; ++m) {
      float* y = call.y + m * call.y_stride;
      for (std::int64_t o = begin; o < end; ++o) y[o] = call.bias == nullptr ? 0.0f : call.bias[o];
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        const float* sum = sums.data() + (begin / call.panel * pieces + piece) * panel_size;
        for (std::int64_t o = begin; o < end; ++o) y[o] += sum[m * call.panel + o - begin];
      }
    }
  });
}

void by_inputs(const FewRowsCall& call, Dtype element) {
  const std::int64_t pieces = (call.I + inputs_per_piece - 1) / inputs_per_piece;
  const std::int64_t panels = (call.O + call.panel - 1) / call.panel;
  std::vector<float> sums(static_cast<std::size_t>(panels * pieces * call.M * call.panel));
  parallel_for(panels * pieces, [&](std::int64_t i) {
    HWY_DYNAMIC_DISPATCH(few_rows_inputs)
    (call, element, i % pieces * inputs_per_piece, i / pieces * call.panel, sums.data() + i * call.M * call.panel);
  });
  add_pieces(call, pieces, sums);
}

}  // namespace

void multiply_few_rows(std::int64_t M, const float* x_MI, const Weight& w, const float* bias_O, float* y_MO,
                       std::int64_t y_stride) {
  constexpr std::int64_t in_cache = 8192;
  const std::int64_t panel = std::clamp<std::int64_t>(in_cache / std::max<std::int64_t>(M, 1) / 16 * 16, 256, 1024);
  FewRowsCall call{M, w.I, w.O, padded_width(w.I), y_stride, panel, x_MI, bias_O, w.data, y_MO};
  std::vector<float> filled_up;
  if (call.x_stride != w.I) {
    filled_up.resize(static_cast<std::size_t>(M * call.x_stride));
    for (std::int64_t m = 0; m < M; ++m) std::copy_n(x_MI + m * w.I, w.I, filled_up.data() + m * call.x_stride);
    call.x = filled_up.data();
  }
  (w.order == Weight::Order::out_in ? by_outputs : by_inputs)(call, w.element);
}

}  // namespace troika::cpu
#endif
