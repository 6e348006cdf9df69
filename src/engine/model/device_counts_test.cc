// Counts the requests of a block of a published model to its device in one microbatch: kernels, products, copies from or to host.
// A device that notes requests and carries out none counts them, at the sizes of real training. docs/gpu.md has the numbers.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "config/presets.h"
#include "gpu/host_accelerator_test_support.h"
#include "model/decoder.h"
#include "shape/adapter.h"
#include "tensor/tensor.h"

namespace troika::model {
namespace {
using tensor::Device;
using tensor::Dtype;
using tensor::Tensor;

class Noting final : public gpu::HostAccelerator {
 public:
  std::shared_ptr<tensor::Memory> allocate(std::size_t bytes, const Device& device) override {
    const std::uintptr_t here = next_;
    next_ += (bytes + 511) / 512 * 512;
    return std::make_shared<tensor::Memory>(reinterpret_cast<void*>(here), bytes, device);
  }
  void launch(const Device&, const tensor::KernelCall&) override { ++kernels; }
  using HostAccelerator::multiply;
  void multiply(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) override { ++products; }

  std::int64_t kernels = 0, products = 0, crossings = 0;

 protected:
  void copy_bytes(const Tensor& to, const Tensor& from) override { crossings += to.is_cpu() || from.is_cpu() ? 1 : 0; }

 private:
  std::uintptr_t next_ = std::uintptr_t{1} << 40;  // addresses of nothing
};

struct Asked {
  std::int64_t kernels, products, crossings;
  bool operator==(const Asked& b) const { return kernels == b.kernels && products == b.products && crossings == b.crossings; }
};
std::ostream& operator<<(std::ostream& out, const Asked& x) {
  return out << x.kernels << " kernels, " << x.products << " products, " << x.crossings << " crossings";
}

Asked asked_of_a_block(const std::string& preset, std::int64_t B, std::int64_t T, std::int64_t lora_rank) {
  config::ModelSettings model = config::find_preset(preset);
  model.layers = 1;
  shape::Trained trained;
  trained.lora.rank = lora_rank;
  if (lora_rank > 0) trained.segments.assign(3, false);
  Noting noting;
  const Device device(noting, 0);
  const auto segments = make_segments(model, T, device, {}, {}, trained);
  const shape::SegmentLayout own = shape::segment_layout(model, 1), adapter = shape::adapter_layout(model, trained.lora, 1);
  const auto flat = [&](std::int64_t elements, Dtype dtype) { return tensor::empty({elements}, {dtype, device}); };
  const SegmentBuffer parameters{flat(own.elements, Dtype::bf16), {}, lora_rank > 0 ? flat(adapter.elements, Dtype::bf16) : Tensor()};
  sharding::FlatLeaf own_leaf(flat(own.elements, Dtype::fp32)), adapter_leaf(flat(adapter.elements, Dtype::fp32));
  const Tokens tokens = lay_out(sharding::Sequences(static_cast<std::size_t>(B), {T, 0, 0}), sharding::ContextGroup(), device);
  const Tensor x_mD = tensor::empty({B * T, model.hidden}, {Dtype::bf16, device}), dy_mD = tensor::empty_like(x_mD);
  const Asked before{noting.kernels, noting.products, noting.crossings};
  const ForwardResult result = segments[1]->forward(parameters, x_mD, tokens, shape::SavedActivations::all);
  segments[1]->backward_input(parameters, dy_mD, tokens, *result.saved);
  segments[1]->backward_weight(lora_rank > 0 ? SegmentLeaves{nullptr, nullptr, &adapter_leaf} : SegmentLeaves{&own_leaf, nullptr, nullptr},
                               tokens, *result.saved);
  return {noting.kernels - before.kernels, noting.products - before.products, noting.crossings - before.crossings};
}

TEST(DeviceCounts, OfABlockOfAPublishedModel) {
  for (const char* preset : {"qwen3-0.6b", "qwen3-1.7b"}) {
    EXPECT_EQ(asked_of_a_block(preset, 1, 512, 0), (Asked{27, 19, 0})) << preset << ", attention in one chunk";
    EXPECT_EQ(asked_of_a_block(preset, 8, 2048, 0), (Asked{246, 236, 0})) << preset;
  }
  EXPECT_EQ(asked_of_a_block("qwen3-8b", 1, 256, 16), (Asked{36, 48, 0})) << "adapters at all projections, attention in one chunk";
  EXPECT_EQ(asked_of_a_block("qwen3-8b", 8, 2048, 16), (Asked{479, 489, 0})) << "adapters at all projections";
}

}  // namespace
}  // namespace troika::model
