#include <cuda_runtime_api.h>

#include <mutex>
#include <optional>

#include "kernels/flash_attention.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {
namespace {

constexpr double no_dropout = 0;

// libtorch's flag for deterministic algorithms, up in the lifetime of this. The mutex: a thread must not take the flag down
// while another's backward has yet to read it. Without NaN in fresh memory, which the flag brings by default.
class DeterministicAlgorithms {
 public:
  DeterministicAlgorithms() : turn_(mutex()) {
    context_.setDeterministicAlgorithms(true, /*warn_only=*/false);
    context_.setDeterministicFillUninitializedMemory(false);
  }
  ~DeterministicAlgorithms() {
    context_.setDeterministicAlgorithms(before_, warned_only_);
    context_.setDeterministicFillUninitializedMemory(filled_);
  }
  DeterministicAlgorithms(const DeterministicAlgorithms&) = delete;
  DeterministicAlgorithms& operator=(const DeterministicAlgorithms&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex of_the_process;
    return of_the_process;
  }
  const std::lock_guard<std::mutex> turn_;
  at::Context& context_ = at::globalContext();
  const bool before_ = context_.deterministicAlgorithms(), warned_only_ = context_.deterministicAlgorithmsWarnOnly(),
             filled_ = context_.deterministicFillUninitializedMemory();
};

bool is_causal(const FlashInput& input) { return input.mask == FlashMask::causal; }

// Of a sequence or document: q [B, T, n, H] beside q [rows, n, H].
std::int64_t longest(const tensor::Tensor& x, const Varlen& varlen, std::int64_t of_documents) {
  return varlen.defined() ? of_documents : x.size(1);
}

FlashOutput forward(const FlashInput& x) {
  const auto of_documents = [&](const tensor::Tensor& cu_seqlens) {
    return x.varlen.defined() ? std::optional<tensor::Tensor>(cu_seqlens) : std::nullopt;
  };
  const auto found = at::_flash_attention_forward(
      x.q, x.k, x.v, of_documents(x.varlen.cu_seqlens_q), of_documents(x.varlen.cu_seqlens_k),
      longest(x.q, x.varlen, x.varlen.max_seqlen_q), longest(x.k, x.varlen, x.varlen.max_seqlen_k), no_dropout,
      is_causal(x), /*return_debug_mask=*/false, std::optional<double>(x.scale));
  return {std::get<0>(found), std::get<1>(found)};
}

FlashGradients backward(const tensor::Tensor& dout, const FlashInput& x, const FlashOutput& output) {
  const tensor::Tensor rng_state = tensor::empty({2}, x.q.type().of(at::kUInt64)), unused = tensor::empty({0}, x.q.type());
  const DeterministicAlgorithms deterministic;
  const auto found = at::_flash_attention_backward(dout, x.q, x.k, x.v, output.out, output.lse, x.varlen.cu_seqlens_q,
                                                   x.varlen.cu_seqlens_k, longest(x.q, x.varlen, x.varlen.max_seqlen_q),
                                                   longest(x.k, x.varlen, x.varlen.max_seqlen_k), no_dropout,
                                                   is_causal(x), rng_state, unused, std::optional<double>(x.scale));
  return {std::get<0>(found), std::get<1>(found), std::get<2>(found)};
}

// Backward of wide heads needs the shared memory of 8.0 and 9.0.
bool device_takes(const tensor::Tensor& x, std::int64_t H) {
  int major = 0, minor = 0;
  const int device = x.device().index();
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
    return false;
  }
  const bool large = minor == 0 && (major >= 8 && major <= 10);
  return major >= 8 && (H <= 192 || large);
}

bool flash_takes(const AttentionInput& input) {
  const tensor::Tensor& q = input.q_BTnH;
  const std::int64_t H = q.size(3);
  const bool half = q.dtype() == tensor::Dtype::bf16 || q.dtype() == tensor::Dtype::fp16;
  return half && H % 8 == 0 && H <= 256 && flash_attention_takes(input) && device_takes(q, H);
}

}  // namespace

AttentionOutput attention_forward(const AttentionInput& input) {
  return flash_takes(input) ? flash_attention_forward(input, forward) : reference::attention_forward(input);
}

AttentionGradients attention_backward(const tensor::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output) {
  return flash_takes(input) ? flash_attention_backward(dout_BTnH, input, output, backward)
                            : reference::attention_backward(dout_BTnH, input, output);
}

}  // namespace troika::kernels::on_cuda
