#include "inference/text_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"
#include "comm/channel.h"
#include "tensor/tensor.h"

namespace troika::inference {
namespace {

std::vector<checkpoint::Slice> slices_of(const shape::SegmentLayout& layout, const tensor::Tensor& flat) {
  std::vector<checkpoint::Slice> slices;
  for (const shape::Slot& slot : layout.slots)
    slices.push_back({slot.info.name, slot.info.shape, slot.region, flat.narrow(0, slot.offset, slot.elements())});
  return slices;
}

std::int64_t context_of(const config::ModelSettings& model, std::int64_t wished) {
  if (wished > model.max_positions)
    throw base::ConfigError(base::say("texts of {} tokens for a model that has {} positions: at most {}", wished,
                                        model.max_positions, model.max_positions));
  return wished == 0 ? model.max_positions : wished;
}

// One buffer for each segment. Halves are filled by way of fp32, one segment after the other.
std::vector<tensor::Tensor> read_parameters(weights::ModelSource& source, const TextModel::Options& options) {
  const auto self = comm::make_self_channel("generate");
  const config::ModelSettings& model = source.model();
  source.check(model);
  std::vector<tensor::Tensor> buffers;
  std::vector<checkpoint::Slice> wanted;
  for (int segment = 0; segment < shape::segment_count(model); ++segment) {
    const shape::SegmentLayout layout = shape::segment_layout(model, segment);
    const tensor::Tensor flat = tensor::empty({layout.elements}, tensor::TensorType(tensor::Dtype::fp32, options.device));
    const auto slices = slices_of(layout, flat);
    wanted.insert(wanted.end(), slices.begin(), slices.end());
    if (options.dtype != tensor::Dtype::fp32) {
      source.load(model, wanted, *self);
      wanted.clear();
    }
    buffers.push_back(flat.to(options.dtype));
  }
  if (!wanted.empty()) source.load(model, wanted, *self);
  return buffers;
}

}  // namespace

TextModel::TextModel(weights::ModelSource& source, const Options& options) {
  const std::int64_t context = context_of(source.model(), options.context);
  cached_ = std::make_unique<const model::CachedDecoder>(source.model(), read_parameters(source, options), context);
}

}  // namespace troika::inference
