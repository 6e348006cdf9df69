#include "gpu/cudnn.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "cuda/score_chunks.h"
#include "gpu/cudnn_api.h"
#include "gpu/flash_graph.h"
#include "gpu/flash_table.h"
#include "gpu/library.h"

namespace troika::gpu {
using tensor::AttentionOperands;
using tensor::Tensor;
using Pass = FlashPlan::Pass;

std::string cudnn_version(const CudnnApi& api) {
  return fmt::format("{}.{}.{}", api.version / 10000, api.version / 100 % 100, api.version % 100);
}

std::shared_ptr<const CudnnApi> load_cudnn(const std::string& library) {
  const Library loaded(library);
  auto api = std::make_shared<CudnnApi>();
#define TROIKA_CUDNN_TAKE(name, symbol, arguments) loaded.take(#symbol, &api->name);
  TROIKA_CUDNN_FUNCTIONS(TROIKA_CUDNN_TAKE)
#undef TROIKA_CUDNN_TAKE
  loaded.take("cudnnGetErrorString", &api->status_name);
  loaded.take("cudnnGetVersion", &api->get_version);
  api->version = api->get_version();
  if (api->version < least_cudnn)
    throw base::ConfigError(fmt::format("'{}' is cuDNN {}, but 9.10.2 or later is needed", library, cudnn_version(*api)));
  return api;
}

namespace {

HeadStrides strides_of(const Tensor& x) { return {x.stride(0), x.stride(2), x.stride(1)}; }

bool aligned(const Tensor& x) {
  const auto address = reinterpret_cast<std::uintptr_t>(x.data());
  return x.stride(3) == 1 && address % 16 == 0 && x.stride(0) % 8 == 0 && x.stride(1) % 8 == 0 && x.stride(2) % 8 == 0;
}
Tensor operand(const Tensor& x) { return aligned(x) ? x : x.contiguous(); }

// Sequences and key/value heads that are computed at a time: divisors of all, so that one plan does.
struct Piece {
  std::int64_t sequences, kv;
};
Piece piece_of(const FlashShape& all, tensor::Repeatable repeatable) {
  if (repeatable == tensor::Repeatable::no) return {all.B, all.k};
  const auto fits = [&](std::int64_t sequences, std::int64_t kv) {
    return cuda::flash_gradient_bytes(sequences * kv * (all.n / all.k), all.T, all.S) <= cuda::most_flash_bytes;
  };
  for (std::int64_t sequences = all.B; sequences > 0; --sequences)
    if (all.B % sequences == 0 && fits(sequences, all.k)) return {sequences, all.k};
  for (std::int64_t kv = all.k; kv > 1; --kv)
    if (all.k % kv == 0 && fits(1, kv)) return {1, kv};
  return {1, 1};
}

}  // namespace

struct Cudnn::Impl {
  using Key = std::tuple<Pass, tensor::Repeatable, FlashShape>;
  std::shared_ptr<const CudnnApi> api;
  int capability = 0;
  CudnnHandle* handle = nullptr;
  std::mutex mutex;
  std::map<Key, std::unique_ptr<FlashPlan>> plans;

  void check(CudnnStatus status) const {
    if (status != CudnnStatus::success)
      throw base::BugError(fmt::format("cuDNN {} failed at its start: {}", cudnn_version(*api), api->status_name(status)));
  }
  std::string table_lacks(const FlashShape& s, tensor::Repeatable repeatable) const {
    return cudnn_lacks({static_cast<int>(api->version), capability, s.dtype, s.T, s.S, s.H, repeatable});
  }
  const FlashPlan& plan(Pass pass, tensor::Repeatable repeatable, const FlashShape& shape) {
    std::unique_ptr<FlashPlan>& plan = plans[{pass, repeatable, shape}];
    if (plan == nullptr) plan = std::make_unique<FlashPlan>(api, handle, nullptr, pass, shape, repeatable);
    return *plan;
  }
};

Cudnn::Cudnn(std::shared_ptr<const CudnnApi> api, int capability, void* stream) : impl_(std::make_unique<Impl>()) {
  impl_->api = std::move(api);
  impl_->capability = capability;
  impl_->check(impl_->api->make(&impl_->handle));
  impl_->check(impl_->api->set_stream(impl_->handle, stream));
}

Cudnn::~Cudnn() {
  impl_->plans.clear();
  impl_->api->end(impl_->handle);
}

static FlashShape shape_of(const AttentionOperands& of) {
  const Tensor &q = of.q_BTnH, &k = of.k_BSkH;
  const std::int64_t n = q.size(2), H = q.size(3), T = q.size(1), S = k.size(1), kv = k.size(2);
  return {q.dtype(),      q.size(0),      n,  kv, T, S, H, of.mask, strides_of(q), strides_of(k), strides_of(of.v_BSkH),
          {T * n * H, H, n * H}, {S * kv * H, H, kv * H}};
}

bool Cudnn::attend(const AttentionOperands& given, const Tensor& out, const Tensor& lse) {
  const Tensor q = operand(given.q_BTnH), k = operand(given.k_BSkH), v = operand(given.v_BSkH);
  const FlashShape shape = shape_of({q, k, v, given.mask});
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->table_lacks(shape, tensor::Repeatable::no).empty()) return false;
  const FlashPlan& plan = impl_->plan(Pass::forward, tensor::Repeatable::no, shape);
  if (!plan.is_there()) return false;
  const Tensor workspace = tensor::empty({plan.workspace_bytes()}, {tensor::Dtype::uint8, q.device()});
  plan.run(impl_->handle,
           {{FlashTensor::q, q.data()}, {FlashTensor::k, k.data()}, {FlashTensor::v, v.data()}, {FlashTensor::out, out.data()},
            {FlashTensor::lse, lse.data()}},
           workspace.data(), static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.H))));
  return true;
}

bool Cudnn::attend_backward(const AttentionOperands& given, tensor::Repeatable repeatable, const Tensor& dout, const Tensor& out,
                            const Tensor& lse, const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  const Tensor q = operand(given.q_BTnH), k = operand(given.k_BSkH), v = operand(given.v_BSkH);
  FlashShape shape = shape_of({q, k, v, given.mask});
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->table_lacks(shape, repeatable).empty()) return false;
  const Piece piece = piece_of(shape, repeatable);
  const std::int64_t of_each = shape.n / shape.k, B = shape.B, kv = shape.k;
  shape.B = piece.sequences;
  shape.k = piece.kv;
  shape.n = piece.kv * of_each;
  const FlashPlan& plan = impl_->plan(Pass::backward, repeatable, shape);
  if (!plan.is_there()) return false;
  const tensor::TensorType fp32 = q.type().of(tensor::Dtype::fp32);
  const Tensor workspace = tensor::empty({plan.workspace_bytes()}, {tensor::Dtype::uint8, q.device()});
  const Tensor dots = tensor::empty({shape.B, shape.n, shape.T}, fp32);
  const Tensor dq_sum =
      repeatable == tensor::Repeatable::no ? tensor::empty({shape.B, shape.n, shape.T, shape.H}, fp32) : Tensor();
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.H)));
  for (std::int64_t b = 0; b < B; b += shape.B) {
    for (std::int64_t first = 0; first < kv; first += shape.k) {
      const auto at = [&](const Tensor& x, std::int64_t head) { return x.select(0, b).select(1, head).data(); };
      const std::int64_t head = first * of_each;
      std::map<FlashTensor, void*> all = {{FlashTensor::q, at(q, head)},       {FlashTensor::k, at(k, first)},
                                          {FlashTensor::v, at(v, first)},      {FlashTensor::out, at(out, head)},
                                          {FlashTensor::dout, at(dout, head)}, {FlashTensor::dq, at(dq, head)},
                                          {FlashTensor::dk, at(dk, first)},    {FlashTensor::dv, at(dv, first)},
                                          {FlashTensor::dots, dots.data()},    {FlashTensor::lse, lse.select(0, b).select(0, head).data()}};
      if (dq_sum.defined()) all[FlashTensor::dq_sum] = dq_sum.data();
      plan.run(impl_->handle, all, workspace.data(), scale);
    }
  }
  return true;
}

std::string Cudnn::lacks(const AttentionOperands& of, tensor::Repeatable repeatable) {
  FlashShape shape = shape_of(of);
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (const std::string why = impl_->table_lacks(shape, repeatable); !why.empty()) return "cuDNN " + why;
  const FlashPlan& forward = impl_->plan(Pass::forward, tensor::Repeatable::no, shape);
  const Piece piece = piece_of(shape, repeatable);
  shape.n = piece.kv * (shape.n / shape.k);
  shape.k = piece.kv;
  shape.B = piece.sequences;
  const FlashPlan& backward = impl_->plan(Pass::backward, repeatable, shape);
  for (const FlashPlan* plan : {&forward, &backward})
    if (!plan->is_there()) return fmt::format("cuDNN {} refuses it ({})", cudnn_version(*impl_->api), plan->reason());
  return "";
}

}  // namespace troika::gpu
