// Sums of gradients that do not depend on order: each gradient becomes an integer on a grid that is the same for all,
// q = g * 2^shift, to nearest, ties to even, and integers add without rounding. Flat tensors of any device; x is fp32, sum
// int64. Magnitudes up to 2^62 fit; a larger one, or NaN, leaves an unspecified value, which the largest magnitude
// reveals. Shifts from -90 to 125. Nothing waits for the device.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/grid.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// The bits of the largest magnitude among floats (without sign, as an integer): they are ordered as the numbers are, and
// those of infinity and NaN are above all.
using MagnitudeBits = std::uint32_t;
inline constexpr MagnitudeBits infinity_bits = 0x7f800000;

// The least e for which the magnitude is below 2^e; -126 where it could be less. `bits` below infinity's.
constexpr int exponent_above(MagnitudeBits bits) { return static_cast<int>(bits >> 23) - 126; }

// Stretches of a flat tensor that follow each other and cover it, each with a grid of its own.
struct GridStretch {
  std::int64_t count = 0;  // elements
  int shift = 0;
};
using GridStretches = std::vector<GridStretch>;

// MagnitudeBits on x's device, int32, one for each stretch: what it has or the largest of the stretch's elements, whichever is
// larger. Undefined: not wanted.
using Largest = tensor::Tensor;

// x becomes the nearest multiple of 2^-shift, which fp32 holds exactly.
void round_to_grid(const tensor::Tensor& x, const GridStretches& stretches, const Largest& largest);

enum class Into { fresh, sum };  // fresh: sum is uninitialised and becomes q
void add_on_grid(const tensor::Tensor& sum, const tensor::Tensor& x, const GridStretches& stretches, Into into,
                 const Largest& largest = {});

// The elements of a matrix from `first` on, row after row.
struct MatrixPart {
  tensor::Tensor elements;
  std::int64_t first = 0;
};
// Adds the rows of x to the rows of the matrix that row_r (int64, ascending, each once) names, as far as they are in the
// part. `largest` is of all of x.
void add_rows_on_grid(const MatrixPart& sum, const tensor::Tensor& row_r, const tensor::Tensor& x_rD, int shift,
                      const Largest& largest = {});

// x = sum * 2^-shift: to double, then to fp32.
void from_integers(const tensor::Tensor& sum, const GridStretches& stretches, const tensor::Tensor& x);
// chunk_squares (flat.h) of that.
tensor::Tensor integer_chunk_squares(const tensor::Tensor& sum, const GridStretches& stretches, std::int64_t chunk);

// 64-bit integers in fewer words, without loss, to be sent: sums of gradients need little more than 32 bits. Tensors are flat, int64, of
// any device; the work is done in host memory.
//
// A stream of words is first a directory, 16 bits per block of 256 integers (the last block may be shorter), four to a word
// from the low bits on: its width in the low 8 of them, its shift in the others. Then the blocks (cpu/grid.h); a
// shorter one has of every lane the words that lane 0 needs. The same from every machine.
std::int64_t directory_words(std::int64_t integers);

// The words of a stream lie in two tensors, `front` with at least the directory and `rest`, undefined where front holds all.
struct PackedStream {
  tensor::Tensor front, rest;
};

// Where in its stream each block of some integers lies.
class Packing {
 public:
  explicit Packing(const tensor::Tensor& integers);  // reads them once
  // Reads a received stream. BugError if it does not begin with a directory.
  Packing(std::int64_t integers, const tensor::Tensor& front);

  std::int64_t words() const { return begins_.back(); }  // of the whole stream

  void pack(const tensor::Tensor& integers, const PackedStream& stream) const;
  void add(const PackedStream& stream, const tensor::Tensor& sum) const;  // sum += the stream's integers

 private:
  struct Words;  // of both tensors
  std::int64_t blocks() const { return static_cast<std::int64_t>(formats_.size()); }
  std::int64_t integers_in(std::int64_t block) const;
  void place_blocks();

  const std::int64_t count_;
  std::vector<cpu::BlockFormat> formats_;  // by block
  std::vector<std::int64_t> begins_;       // by block, in words; one more: the end
};

}  // namespace troika::kernels
