// Attention by NVIDIA's cuDNN, loaded when the program runs.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace troika::gpu {

inline const std::vector<std::string> cudnn_libraries = {"libcudnn.so.9"};

struct CudnnApi;  // the library's functions
// ConfigError when it or a function is missing, or when it is too old.
std::shared_ptr<const CudnnApi> load_cudnn(const std::string& library);
std::string cudnn_version(const CudnnApi& api);  // "9.28.0"

// Of one device, whose context the calling thread has. Any thread, one at a time.
class Cudnn {
 public:
  // `capability`: 90 is 9.0. `stream`: cudaStream_t, on which everything is queued.
  Cudnn(std::shared_ptr<const CudnnApi> api, int capability, void* stream);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  // As those of Accelerator. Beside results backward takes cuda::most_flash_bytes at most, and 4 bytes for each element of q.
  bool attend(const tensor::AttentionOperands& of, const tensor::Tensor& out, const tensor::Tensor& lse);
  bool attend_backward(const tensor::AttentionOperands& of, tensor::Repeatable repeatable, const tensor::Tensor& dout,
                       const tensor::Tensor& out, const tensor::Tensor& lse, const tensor::Tensor& dq, const tensor::Tensor& dk,
                       const tensor::Tensor& dv);
  std::string lacks(const tensor::AttentionOperands& of, tensor::Repeatable repeatable);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::gpu
