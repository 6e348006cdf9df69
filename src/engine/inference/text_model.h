// A model that continues texts, in one process: weights from any source, keys and values of earlier positions in caches.
#pragma once

#include <cstdint>
#include <memory>

#include "model/cached_decoder.h"
#include "model/decoder.h"
#include "tensor/tensor.h"
#include "weights/model_source.h"

namespace troika::inference {

class TextModel {
 public:
  struct Options {
    std::int64_t context = 0;  // the most positions of a text; 0: as many as the model has
    tensor::Device device;
    tensor::Dtype dtype = tensor::Dtype::fp32;
  };

  // Reads the weights; errors as of ModelSource::load, and ConfigError when the model has fewer positions.
  TextModel(weights::ModelSource& source, const Options& options);

  const model::CachedDecoder& decoder() const { return *cached_; }
  std::int64_t context() const { return cached_->context(); }

 private:
  std::unique_ptr<const model::CachedDecoder> cached_;
};

}  // namespace troika::inference
