// Operands of a product as tiles: 16 rows of 16 words, a word two halves of one line that follow each other in a tile's order of the
// contracted index k. A line is a row of A, or a column of B. For files compiled once per SIMD target.
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/arrays.h"
#include "cpu/tile_units-inl.h"

#if defined(TROIKA_CPU_TILE_PACKING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_TILE_PACKING_INL_H_
#undef TROIKA_CPU_TILE_PACKING_INL_H_
#else
#define TROIKA_CPU_TILE_PACKING_INL_H_
#endif

#if TROIKA_CPU_TILE_UNITS
HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t tile_depth = 2 * tile_size, tile_words = tile_size * tile_size;

// `count` lines of K elements: element k of line i is at data[i * line_stride + k * k_stride]; one of the strides is 1.
template <class Element>
struct Lines {
  const Element* data;
  std::int64_t line_stride, k_stride, count, K;
};

// Floats are split into planes, halves are one.
template <class Element>
inline constexpr int planes = std::is_same_v<Element, float> ? 3 : 1;

// Groups of two tiles' lines, each with its steps along k, each with its planes, each two tiles.
template <class Element>
HWY_INLINE std::int64_t words_of_step() {
  return planes<Element> * 2 * tile_words;
}
HWY_INLINE std::int64_t whole_steps(std::int64_t count) { return (count + tile_depth - 1) / tile_depth * tile_depth; }
template <class Element>
HWY_INLINE std::int64_t packed_words(std::int64_t lines, std::int64_t K) {
  return whole_steps(lines) / tile_depth * (whole_steps(K) / tile_depth) * words_of_step<Element>();
}

// The first `count` of a vector's elements, and zeros.
HWY_INLINE __m512i load_words(const float* data, std::int64_t count) {
  if (count >= 16) return _mm512_loadu_si512(data);
  return _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << std::max<std::int64_t>(count, 0)) - 1), data);
}
HWY_INLINE __m512i load_halves(const Bf16* data, std::int64_t count) {
  if (count >= 32) return _mm512_loadu_si512(data);
  return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((std::uint64_t{1} << std::max<std::int64_t>(count, 0)) - 1), data);
}
HWY_INLINE __m512i load_wide(const Bf16* data, std::int64_t count) {
  if (count >= 16) return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(data)));
  return _mm512_cvtepu16_epi32(_mm512_castsi512_si256(load_halves(data, count)));
}
HWY_INLINE void store_plane(std::uint32_t* to, int plane, __m512i words) { _mm512_store_si512(to + plane * 2 * tile_words, words); }

// One row of a tile in every plane, of 16 pairs of floats (x, y): each plane has the upper half of what remains, rounded in all but the
// last, where nothing is left below. A NaN whose upper half rounds to a number is one there.
HWY_INLINE void store_split(__m512i x, __m512i y, std::uint32_t* to) {
  constexpr __mmask32 upper = 0xaaaaaaaa;
  const __m512i half = _mm512_set1_epi32(0x8000), mask = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  const auto store = [&](int plane, __m512i first, __m512i second) HWY_ATTR {
    store_plane(to, plane, _mm512_mask_blend_epi16(upper, _mm512_srli_epi32(first, 16), second));
  };
  const auto rest = [&](__m512i v, __m512i rounded) HWY_ATTR {
    return _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(v), _mm512_castsi512_ps(_mm512_and_si512(rounded, mask))));
  };
  constexpr int last = planes<float> - 1;
  for (int plane = 0; plane < last; ++plane) {
    const __m512i rounded_x = _mm512_add_epi32(x, half), rounded_y = _mm512_add_epi32(y, half);
    store(plane, rounded_x, rounded_y);
    x = rest(x, rounded_x);
    y = rest(y, rounded_y);
  }
  store(last, x, y);
}

// Along a line: 32 elements, of which `count` are there.
HWY_INLINE void pack_along(const float* from, std::int64_t count, std::uint32_t* to) {
  store_split(load_words(from, count), load_words(from + tile_size, count - tile_size), to);
}
HWY_INLINE void pack_along(const Bf16* from, std::int64_t count, std::uint32_t* to) { store_plane(to, 0, load_halves(from, count)); }

// Across 16 lines, of which `count` are there: elements of two k, `first` and `second`, which are null beyond K. Floats are paired as in
// pack_along.
HWY_INLINE void pack_across(const float* first, const float* second, std::int64_t count, std::uint32_t* to) {
  const auto at = [&](const float* from) HWY_ATTR { return from != nullptr ? load_words(from, count) : _mm512_setzero_si512(); };
  store_split(at(first), at(second), to);
}
HWY_INLINE void pack_across(const Bf16* first, const Bf16* second, std::int64_t count, std::uint32_t* to) {
  const auto at = [&](const Bf16* from) HWY_ATTR { return from != nullptr ? load_wide(from, count) : _mm512_setzero_si512(); };
  store_plane(to, 0, _mm512_or_si512(at(first), _mm512_slli_epi32(at(second), 16)));
}
template <class Element>
HWY_INLINE std::int64_t first_of_pair(std::int64_t row) {
  return planes<Element> == 1 ? 2 * row : row;
}
template <class Element>
inline constexpr std::int64_t pair_distance = planes<Element> == 1 ? 1 : tile_size;

// Rows of a tile become its columns.
HWY_INLINE void turn_tile(std::uint32_t* tile) {
  __m512i x[16], y[16];
  for (int i = 0; i < 16; ++i) x[i] = _mm512_load_si512(tile + 16 * i);
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {  // column i + 4 q of each four rows is in quarter q
    y[i] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0xdd);
    y[i + 8] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0x88);
    y[i + 12] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    _mm512_store_si512(tile + 16 * i, _mm512_shuffle_i32x4(y[i], y[i + 8], 0x88));
    _mm512_store_si512(tile + 16 * (i + 8), _mm512_shuffle_i32x4(y[i], y[i + 8], 0xdd));
    _mm512_store_si512(tile + 16 * (i + 4), _mm512_shuffle_i32x4(y[i + 4], y[i + 12], 0x88));
    _mm512_store_si512(tile + 16 * (i + 12), _mm512_shuffle_i32x4(y[i + 4], y[i + 12], 0xdd));
  }
}

// The row of a tile: the words of a line, as A has them, or a word of every line, as B has them.
enum class TileRow { line, word };

// How lines are packed: elements k to k + depth of every line, in groups `group_words` apart.
struct Packing {
  std::int64_t k, depth, group_words;
  std::uint32_t* to;
};

template <class Element>
HWY_INLINE std::uint32_t* tile_at(const Packing& p, std::int64_t line, std::int64_t step) {
  return p.to + line / tile_depth * p.group_words + line % tile_depth / tile_size * tile_words + step * words_of_step<Element>();
}
template <class Element>
HWY_INLINE void turn_planes(std::uint32_t* tile) {
  for (int plane = 0; plane < planes<Element>; ++plane) turn_tile(tile + plane * 2 * tile_words);
}

// 16 lines at a time, each read along k; those of the next tile are asked for.
template <TileRow kRow, class Element>
void pack_lines_along(const Lines<Element>& x, const Packing& p) {
  for (std::int64_t line = 0; line < x.count; line += tile_size) {
    for (std::int64_t step = 0; step * tile_depth < p.depth; ++step) {
      std::uint32_t* tile = tile_at<Element>(p, line, step);
      const std::int64_t k = p.k + step * tile_depth;
      for (std::int64_t row = 0; row < tile_size; ++row) {
        const Element* from = x.data + (line + row) * x.line_stride + k;
        const auto* next = reinterpret_cast<const char*>(from + tile_size * x.line_stride);
        for (std::size_t byte = 0; byte < tile_depth * sizeof(Element); byte += 64) _mm_prefetch(next + byte, _MM_HINT_T0);
        pack_along(from, line + row < x.count ? x.K - k : 0, tile + row * tile_size);
      }
      if (kRow == TileRow::word) turn_planes<Element>(tile);
    }
  }
}

// Of two rows, 32 lines each.
template <class Element>
HWY_INLINE void prefetch_pair(const Element* one, const Element* other) {
  for (const Element* from : {one, other})
    for (std::size_t byte = 0; byte < tile_depth * sizeof(Element); byte += 64) _mm_prefetch(reinterpret_cast<const char*>(from) + byte, _MM_HINT_T0);
}

// Lines beside each other in memory, `piece` at a time: runs of bytes that are worth asking for, in few enough pages.
template <TileRow kRow, class Element>
void pack_lines_across(const Lines<Element>& x, const Packing& p) {
  constexpr std::int64_t piece = 128;
  const auto row_of = [&](std::int64_t k) { return k < x.K ? x.data + k * x.k_stride : nullptr; };
  for (std::int64_t begin = 0; begin < x.count; begin += piece) {
    const std::int64_t end = std::min(begin + piece, x.count);
    for (std::int64_t step = 0; step * tile_depth < p.depth; ++step) {
      std::uint32_t* const tiles = tile_at<Element>(p, begin, step);
      for (std::int64_t row = 0; row < tile_size; ++row) {
        const std::int64_t k = p.k + step * tile_depth + first_of_pair<Element>(row);
        const Element *first = row_of(k), *second = row_of(k + pair_distance<Element>);
        const Element *next = x.data + (k + tile_depth) * x.k_stride, *after = next + pair_distance<Element> * x.k_stride;
        std::uint32_t* to = tiles + row * tile_size;
        for (std::int64_t line = begin; line < end; line += tile_depth, to += p.group_words) {
          const Element *one = first == nullptr ? nullptr : first + line, *other = second == nullptr ? nullptr : second + line;
          prefetch_pair(next + line, after + line);
          pack_across(one, other, x.count - line, to);
          if (line + tile_size >= end) continue;
          pack_across(one == nullptr ? nullptr : one + tile_size, other == nullptr ? nullptr : other + tile_size, x.count - line - tile_size,
                      to + tile_words);
        }
      }
      for (std::int64_t line = begin; line < end && kRow == TileRow::line; line += tile_size) turn_planes<Element>(tile_at<Element>(p, line, step));
    }
  }
}

template <TileRow kRow, class Element>
void pack_lines(const Lines<Element>& x, const Packing& p) {
  x.k_stride == 1 ? pack_lines_along<kRow>(x, p) : pack_lines_across<kRow>(x, p);
}

}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif
