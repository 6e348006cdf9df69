// The decoder family as segments; shape/architecture.h has its members. Tied or untied head.
#pragma once

#include <memory>
#include <vector>

#include "config/choices.h"
#include "config/settings/settings.h"
#include "model/segment.h"
#include "shape/layout.h"
#include "sharding/context_group.h"
#include "sharding/tensor_group.h"
#include "tensor/tensor.h"

namespace troika::model {

// The groups inside segments. Null: alone. What they point to must outlive the segments.
struct Parallelism {
  const sharding::TensorGroup* tensor = nullptr;
  const sharding::ContextGroup* context = nullptr;
  shape::TensorShare share() const;
};

// All segments of the model in order, for sequences of at most seq_len positions, of exactly seq_len under context
// parallelism. They hold no parameters. `on_logits` may be empty. Backward of what is not `trained` keeps and computes
// what the segments before need.
std::vector<std::unique_ptr<Segment>> make_segments(const config::ModelSettings& model, std::int64_t seq_len,
                                                    const tensor::Device& device, const Parallelism& parallel = {},
                                                    const OnLogits& on_logits = {}, const shape::Trained& trained = {});

// Sets every element of a flat fp32 buffer on the host from (seed, parameter name, global element), so any layout
// starts from the same bits. Works on as many threads as tensor::set_threads allows.
void initialise(const shape::SegmentLayout& layout, const tensor::Tensor& flat, std::uint64_t seed, double init_std);
// The same for elements `range` of the buffer, of which `flat` holds no others.
void initialise(const shape::SegmentLayout& layout, const shape::Range& range, const tensor::Tensor& flat,
                std::uint64_t seed, double init_std);

struct DecoderResult {
  tensor::Tensor y_mD;        // undefined when the head is in the range
  kernels::LossSum loss;  // zero when it is not
  std::vector<std::unique_ptr<Saved>> saved;
  std::int64_t saved_bytes() const;
};

// Consecutive segments of one rank with parameter buffers of their own, one flat buffer per segment; for generation,
// evaluation and tests (training holds its buffers in the executor). Owns the parameters. One rank's thread.
class Decoder {
 public:
  struct Options {
    std::int64_t seq_len = 0;
    tensor::Device device;
    tensor::Dtype dtype = tensor::Dtype::fp32;  // of the parameters and activations
    Parallelism parallel;
  };
  // Segments [first, end). Parameters start uninitialised.
  Decoder(const config::ModelSettings& model, int first, int end, const Options& options);
  Decoder(const config::ModelSettings& model, const Options& options);  // all of them

  // One per segment and, when the range holds the head of a tied model, one more for the table's second use.
  const std::vector<shape::SegmentLayout>& layouts() const { return layouts_; }
  // One buffer per layout. The last is the embedding's own buffer when the range holds the embedding too, else a copy.
  const std::vector<tensor::Tensor>& parameters() const { return parameters_; }
  bool has_tied_copy() const;  // the last buffer is a copy, to be loaded or initialised like the others
  // One fp32 gradient buffer per layout, uninitialised.
  std::vector<tensor::Tensor> new_gradients() const;
  // This slot's elements of a flat buffer, in local_shape.
  static tensor::Tensor view(const tensor::Tensor& flat, const shape::Slot& slot);

  void initialise(std::uint64_t seed, double init_std) const;

  DecoderResult forward(const tensor::Tensor& x_mD, const Tokens& tokens, shape::SavedActivations activations) const;
  tensor::Tensor backward_input(const tensor::Tensor& dy_mD, const Tokens& tokens, DecoderResult& result) const;
  void backward_weight(const std::vector<tensor::Tensor>& gradients, const Tokens& tokens, DecoderResult& result) const;

 private:
  bool has_tied_use() const { return layouts_.size() > segments_.size(); }
  SegmentBuffer buffer(const std::vector<tensor::Tensor>& flats, std::size_t index) const;

  config::ModelSettings model_;
  Options options_;
  int first_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::vector<shape::SegmentLayout> layouts_;
  std::vector<tensor::Tensor> parameters_;
};

// The number formats of config/choices.h as tensors have them.
inline tensor::Dtype dtype_of(config::Precision precision) {
  if (precision == config::Precision::bf16) return tensor::Dtype::bf16;
  return precision == config::Precision::fp16 ? tensor::Dtype::fp16 : tensor::Dtype::fp32;
}

}  // namespace troika::model
