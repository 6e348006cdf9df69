#include "gpu/cudnn.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "gpu/flash_graph.h"

namespace troika::gpu {
using tensor::AttentionOperands;
using tensor::Tensor;
using Pass = FlashPlan::Pass;

namespace {

HeadStrides strides_of(const Tensor& x) { return {x.stride(0), x.stride(2), x.stride(1)}; }

bool aligned(const Tensor& x) {
  const auto address = reinterpret_cast<std::uintptr_t>(x.data());
  return x.stride(3) == 1 && address % 16 == 0 && x.stride(0) % 8 == 0 && x.stride(1) % 8 == 0 && x.stride(2) % 8 == 0;
}
Tensor operand(const Tensor& x) { return aligned(x) ? x : x.contiguous(); }

}  // namespace

struct Cudnn::Impl {
  using Key = std::tuple<Pass, tensor::Repeatable, FlashShape>;
  std::shared_ptr<const CudnnApi> api;
  int capability = 0;
  std::int64_t most_bytes = 0;
  CudnnHandle* handle = nullptr;
  std::mutex mutex;
  std::map<Key, std::unique_ptr<FlashPlan>> plans;

  void check(CudnnStatus status) const {
    if (status != CudnnStatus::success)
      throw base::BugError(fmt::format("cuDNN {} failed at its start: {}", cudnn_version(*api), api->status_name(status)));
  }
  base::Text table_lacks(const FlashShape& s, tensor::Repeatable repeatable) const {
    return cudnn_lacks({static_cast<int>(api->version), capability, s.dtype, s.T, s.S, s.H, repeatable, most_bytes});
  }
  FlashShape piece_of(FlashShape shape, tensor::Repeatable repeatable) const {
    const shape::FlashSizes piece = shape::flash_piece({shape.B, shape.n, shape.k, shape.T, shape.S, shape.H}, repeatable, most_bytes);
    shape.B = piece.B;
    shape.n = piece.n;
    shape.k = piece.k;
    return shape;
  }
  const FlashPlan& plan(Pass pass, tensor::Repeatable repeatable, const FlashShape& shape) {
    std::unique_ptr<FlashPlan>& plan = plans[{pass, repeatable, shape}];
    if (plan == nullptr) plan = std::make_unique<FlashPlan>(api, handle, nullptr, pass, shape, repeatable);
    return *plan;
  }
};

Cudnn::Cudnn(std::shared_ptr<const CudnnApi> api, int capability, void* stream, std::int64_t most_bytes)
    : impl_(std::make_unique<Impl>()) {
  impl_->api = std::move(api);
  impl_->capability = capability;
  impl_->most_bytes = most_bytes;
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
  if (!impl_->table_lacks(shape, tensor::Repeatable::no).english.empty()) return false;
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
  const FlashShape all = shape_of({q, k, v, given.mask});
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->table_lacks(all, repeatable).english.empty()) return false;
  const FlashShape shape = impl_->piece_of(all, repeatable);
  const FlashPlan& plan = impl_->plan(Pass::backward, repeatable, shape);
  if (!plan.is_there()) return false;
  const tensor::TensorType fp32 = q.type().of(tensor::Dtype::fp32);
  const Tensor workspace = tensor::empty({plan.workspace_bytes()}, {tensor::Dtype::uint8, q.device()});
  const Tensor dots = tensor::empty({shape.B, shape.n, shape.T}, fp32);
  const Tensor dq_sum =
      repeatable == tensor::Repeatable::no ? tensor::empty({shape.B, shape.n, shape.T, shape.H}, fp32) : Tensor();
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.H)));
  for (std::int64_t b = 0; b < all.B; b += shape.B) {
    for (std::int64_t first = 0; first < all.k; first += shape.k) {
      const auto at = [&](const Tensor& x, std::int64_t head) { return x.select(0, b).select(1, head).data(); };
      const std::int64_t head = first * (all.n / all.k);
      std::map<FlashTensor, void*> pointers = {{FlashTensor::q, at(q, head)},       {FlashTensor::k, at(k, first)},
                                          {FlashTensor::v, at(v, first)},      {FlashTensor::out, at(out, head)},
                                          {FlashTensor::dout, at(dout, head)}, {FlashTensor::dq, at(dq, head)},
                                          {FlashTensor::dk, at(dk, first)},    {FlashTensor::dv, at(dv, first)},
                                          {FlashTensor::dots, dots.data()},    {FlashTensor::lse, lse.select(0, b).select(0, head).data()}};
      if (dq_sum.defined()) pointers[FlashTensor::dq_sum] = dq_sum.data();
      plan.run(impl_->handle, pointers, workspace.data(), scale);
    }
  }
  return true;
}

base::Text Cudnn::lacks(const AttentionOperands& of, tensor::Repeatable repeatable) {
  const FlashShape shape = shape_of(of);
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (const base::Text why = impl_->table_lacks(shape, repeatable); !why.english.empty()) return why;
  const FlashPlan& forward = impl_->plan(Pass::forward, tensor::Repeatable::no, shape);
  const FlashPlan& backward = impl_->plan(Pass::backward, repeatable, impl_->piece_of(shape, repeatable));
  for (const FlashPlan* plan : {&forward, &backward})
    if (!plan->is_there())
      return base::say("cuDNN {} rejects {} queries and {} keys of {} and {} heads of width {} ({})", cudnn_version(*impl_->api), shape.T, shape.S, shape.n, shape.k, shape.H, plan->reason());
  return {};
}

}  // namespace troika::gpu
