#include "cuda/flat.h"
#include "cuda/flat_dispatch.h"
#include "cuda/launch.cuh"

namespace troika::cuda {

void add_into(std::int64_t count, float* sum, const float* other, const Stream& stream) {
  dispatch::add_into(OnStream{stream}, count, sum, other);
}

void chunk_squares(std::int64_t count, const float* x, std::int64_t chunk, double* squares, const Stream& stream) {
  dispatch::chunk_squares(OnStream{stream}, count, x, chunk, squares);
}

void adamw(const AdamWNumbers& a, std::int64_t count, const AdamWState& state, const Stream& stream) {
  dispatch::adamw(OnStream{stream}, a, count, state, Dtype::fp32, nullptr);
}

void adamw(const AdamWNumbers& a, std::int64_t count, const AdamWState& state, Dtype dtype, void* rounded,
           const Stream& stream) {
  dispatch::adamw(OnStream{stream}, a, count, state, dtype, rounded);
}

void round_into(std::int64_t count, const float* master, Dtype dtype, void* rounded, const Stream& stream) {
  dispatch::round_into(OnStream{stream}, count, master, dtype, rounded);
}

}  // namespace troika::cuda
