// Attention as a graph of cuDNN's operations, in the pattern that its fused kernels take: products, the softmax between them, and
// for the backward pass the gradients of both. T. Dao, "FlashAttention-2", 2023.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/dtype.h"
#include "gpu/cudnn_api.h"
#include "tensor/accelerator.h"

namespace troika::gpu {

using tensor::Repeatable;

// Elements from one to the next: sequence, head, position; the head's width is contiguous.
using HeadStrides = std::array<std::int64_t, 3>;

// B sequences, n query and k key/value heads (query head i reads i / (n / k)), T queries, S keys, head width H.
struct FlashShape {
  base::Dtype dtype = base::Dtype::bf16;
  std::int64_t B = 0, n = 0, k = 0, T = 0, S = 0, H = 0;
  tensor::AttentionMask mask = tensor::AttentionMask::none;
  HeadStrides q{}, key{}, value{}, out{}, key_gradient{};  // out: of dout and dq too; key_gradient: of dk and dv
  auto all() const { return std::tie(dtype, B, n, k, T, S, H, mask, q, key, value, out, key_gradient); }
  bool operator<(const FlashShape& other) const { return all() < other.all(); }
};

// The names of a graph's tensors when it is run.
// The log-sum-exp is contiguous, [B, n, T]. dots: fp32, as it, and dq_sum: fp32, contiguous [B, n, T, H], are memory that backward works in;
// dq_sum where it need not be repeatable.
enum class FlashTensor : std::int64_t { q = 1, k, v, out, lse, dout, dq, dk, dv, dots, dq_sum, scale, one, lowest, shift, others };

// A finished plan, with the graph that it was made of.
class FlashPlan {
 public:
  enum class Pass { forward, backward };

  // `handle` or, without a device, its properties (device_json). BugError with cuDNN's words where an object is refused.
  // repeatable: the backward pass adds in an order of its own (Repeatable::yes). is_there(): whether cuDNN has a kernel for it.
  FlashPlan(std::shared_ptr<const CudnnApi> api, CudnnHandle* handle, CudnnObject* device, Pass pass, const FlashShape& shape,
            Repeatable repeatable);
  FlashPlan(const FlashPlan&) = delete;
  FlashPlan& operator=(const FlashPlan&) = delete;
  ~FlashPlan();

  bool is_there() const { return plan_ != nullptr; }
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  const std::string& reason() const { return reason_; }  // cuDNN's, where there is no kernel
  // Queues it on the stream of the handle. Pointers to device memory, of q to dq_sum that the pass has.
  void run(CudnnHandle* handle, const std::map<FlashTensor, void*>& pointers, void* workspace, float scale) const;

 private:
  struct Builder;
  void choose(CudnnHandle* handle, CudnnObject* device, CudnnObject* graph, Repeatable repeatable);
  CudnnObject* make(CudnnKind kind);
  void check(CudnnStatus status, const char* what) const;

  const std::shared_ptr<const CudnnApi> api_;
  const std::int32_t shift_;  // of the diagonal
  std::vector<FlashTensor> kept_;  // of the graph, where they are not between operations
  std::vector<CudnnObject*> objects_;  // ended in reverse
  CudnnObject* plan_ = nullptr;
  std::int64_t workspace_bytes_ = 0;
  std::string reason_;
};

}  // namespace troika::gpu
