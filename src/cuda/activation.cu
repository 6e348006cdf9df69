#include "cuda/activation.h"
#include "cuda/activation_dispatch.h"
#include "cuda/launch.cuh"

namespace troika::cuda {

void swiglu_forward(const ActivationRows& rows, const void* gate_up, void* h, const Stream& stream) {
  dispatch::swiglu_forward(OnStream{stream}, rows, gate_up, h);
}

void swiglu_backward(const ActivationRows& rows, const void* dh, const void* gate_up, void* dgate_up,
                     std::int64_t stride, const Stream& stream) {
  dispatch::swiglu_backward(OnStream{stream}, rows, dh, gate_up, dgate_up, stride);
}

void gelu_forward(const ActivationRows& rows, const void* x, void* y, const Stream& stream) {
  dispatch::gelu_forward(OnStream{stream}, rows, x, y);
}

void gelu_backward(const ActivationRows& rows, const void* dy, const void* x, void* dx, std::int64_t stride,
                   const Stream& stream) {
  dispatch::gelu_backward(OnStream{stream}, rows, dy, x, dx, stride);
}

}  // namespace troika::cuda
