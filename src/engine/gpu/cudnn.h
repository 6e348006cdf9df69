// Attention by NVIDIA's cuDNN, loaded when the program runs.
#pragma once

#include <cstdint>
#include <memory>

#include "shape/gpu_chunks.h"
#include "gpu/cudnn_api.h"
#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace troika::gpu {

// cuDNN on one device, whose context the calling thread has. Any thread, one at a time.
class Cudnn {
 public:
  // `capability`: 90 is 9.0. `stream`: cudaStream_t, on which everything is queued.
  // `most_bytes`: of the gradients of scores that exist at a time (shape/gpu_chunks.h).
  Cudnn(std::shared_ptr<const CudnnApi> api, int capability, void* stream, std::int64_t most_bytes = shape::most_flash_bytes);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  // As those of Accelerator. Beside results backward takes shape::flash_bytes of one piece, and copies of what is not aligned to 16 bytes.
  bool attend(const tensor::AttentionOperands& of, const tensor::Tensor& out, const tensor::Tensor& lse);
  bool attend_backward(const tensor::AttentionOperands& of, tensor::Repeatable repeatable, const tensor::Tensor& dout,
                       const tensor::Tensor& out, const tensor::Tensor& lse, const tensor::Tensor& dq, const tensor::Tensor& dk,
                       const tensor::Tensor& dv);
  base::Text lacks(const tensor::AttentionOperands& of, tensor::Repeatable repeatable);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::gpu
