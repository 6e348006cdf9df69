#include "cuda/grid.h"
#include "cuda/grid_dispatch.h"
#include "cuda/launch.cuh"

namespace troika::cuda {

void round_to_grid(std::int64_t count, float* x, int shift, std::uint32_t* largest, const Stream& stream) {
  dispatch::round_to_grid(OnStream{stream}, count, x, shift, largest);
}

void set_integers(std::int64_t count, std::int64_t* sum, const float* x, int shift, std::uint32_t* largest,
                  const Stream& stream) {
  dispatch::set_integers(OnStream{stream}, count, sum, x, shift, largest);
}

void add_integers(std::int64_t count, std::int64_t* sum, const float* x, int shift, std::uint32_t* largest,
                  const Stream& stream) {
  dispatch::add_integers(OnStream{stream}, count, sum, x, shift, largest);
}

void from_integers(std::int64_t count, const std::int64_t* sum, int shift, float* x, const Stream& stream) {
  dispatch::from_integers(OnStream{stream}, count, sum, shift, x);
}

void integer_chunk_squares(std::int64_t count, const std::int64_t* sum, int shift, std::int64_t chunk, double* squares,
                           const Stream& stream) {
  dispatch::integer_chunk_squares(OnStream{stream}, count, sum, shift, chunk, squares);
}

}  // namespace troika::cuda
