// The segments of a decoder, and what they share: the groups that they work in, norms, places in buffers and in leaves, bytes.
#pragma once

#include <initializer_list>
#include <memory>

#include "config/settings/settings.h"
#include "kernels/rows.h"
#include "kernels/vocabulary.h"
#include "model/decoder.h"
#include "model/positions.h"
#include "model/segment.h"
#include "shape/architecture.h"
#include "shape/layout.h"
#include "tensor/tensor.h"

namespace troika::model {

// The groups of a Parallelism, or groups of this rank alone where it names none.
struct Groups {
  std::shared_ptr<const sharding::TensorGroup> tensor;
  std::shared_ptr<const sharding::ContextGroup> context;
  shape::TensorShare share() const { return {tensor->rank(), tensor->size()}; }
};
Groups groups_of(const Parallelism& parallel);

// The factor of the loss's sum over rows in backward: the step divides by the integer of all rows and by the loss scale once they
// are known (executor/executor.cc). A further term of the loss, of whichever segment, gets a weight relative to that integer and this factor
// too; else its size would depend on how a batch is cut into microbatches.
double loss_factor(const Tokens& tokens);

// An fp32 tensor of the same shape, uninitialised: a gradient.
tensor::Tensor gradient_like(const tensor::Tensor& parameter);

// Bytes of those that are defined.
std::int64_t bytes_of(std::initializer_list<const tensor::Tensor*> tensors);

template <class... Tensors>
void drop(Tensors&... tensors) {
  (tensors.reset(), ...);
}

// Ranges of a flat buffer, one after the other.
class Places {
 public:
  shape::Range take(std::int64_t elements) {
    end_ += elements;
    return {end_ - elements, elements};
  }
  std::int64_t end() const { return end_; }

 private:
  std::int64_t end_ = 0;
};

// Undefined of an undefined buffer.
tensor::Tensor view(const tensor::Tensor& flat, const shape::Range& place);

// A range of a leaf, or of none.
class LeafPart {
 public:
  LeafPart(sharding::LeafWriter* leaf, const shape::Range& place) : leaf_(leaf), place_(place) {}
  LeafPart part(const shape::Range& of) const { return {leaf_, {place_.begin + of.begin, of.count}}; }
  tensor::Tensor open() const { return leaf_->open(place_); }
  void write(const tensor::Tensor& x) const { leaf_->write(place_, x); }
  tensor::Destination open_sum() const { return leaf_->open_sum(place_); }
  void close() const { leaf_->close(); }
  void write_rows(const kernels::NamedRows& rows) const { leaf_->write_rows(place_, rows.row_r, rows.gradient_rD); }

 private:
  sharding::LeafWriter* leaf_;
  shape::Range place_;
};

// The norm of an architecture: RMSNorm, or LayerNorm with a bias. Its weights, and their gradients, follow each other
// in a flat piece of a segment's buffer. Shapes: M rows, D width, E = elements(). Dtypes as in kernels/cpu_operands.h;
// gradients fp32.
struct NormSaved {
  tensor::Tensor mean_M, rstd_M;  // fp32; x itself is kept by the caller
  std::int64_t bytes() const;
};

class Norm {
 public:
  virtual ~Norm() = default;
  std::int64_t elements() const { return elements_; }

  // Returns y_MD; fills `saved` when it is not null. plus_MD, where it is defined, is added to x first, in place.
  virtual tensor::Tensor forward(const tensor::Tensor& w_E, const tensor::Tensor& x_MD, NormSaved* saved,
                                 const tensor::Tensor& plus_MD = {}) const = 0;
  // Returns dx_MD = gradient + plus_MD (may be undefined) and writes dw_E.
  virtual tensor::Tensor backward(const tensor::Tensor& w_E, const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD,
                                  const NormSaved& saved, const tensor::Tensor& dw_E,
                                  const tensor::Tensor& plus_MD = {}) const = 0;

 protected:
  explicit Norm(std::int64_t elements) : elements_(elements) {}

 private:
  const std::int64_t elements_;
};

// Over the stream, of width model.hidden.
std::unique_ptr<const Norm> make_norm(const config::ModelSettings& model);

// What an RMSNorm of the architecture multiplies by.
kernels::Gain gain_of(const shape::Architecture& architecture);

// Segment 0: token ids to vectors, plus the vectors of their positions where the architecture learns them. Each tp rank
// looks up its part of the vocabulary; the table of positions is on all of them.
std::unique_ptr<Segment> make_embedding_segment(const config::ModelSettings& model, const Positions& positions,
                                                const Groups& groups);

// The rows of ids at any positions, without tensor parallelism: ids_M, positions_M (int64) -> [M, D]. `flat`: segment 0's.
tensor::Tensor embed(const config::ModelSettings& model, const tensor::Tensor& flat, const tensor::Tensor& ids_M,
                     const tensor::Tensor& positions_M);

// One transformer block: x + attention(norm(x)), then x + feed_forward(norm(x)), where what is added is normed and scaled as the
// model says. Each tp rank holds some query heads with
// the key/value heads that they read, and some columns of the feed-forward. `segment`: its number in the model.
std::unique_ptr<Segment> make_block_segment(const config::ModelSettings& model, const Positions& positions,
                                            const Groups& groups, const shape::Trained& trained, int segment);

// The last segment: final norm, output projection (the embedding's table when tied), loss (kernels/row_loss.h). Each tp rank holds a
// part of the vocabulary.
// `on_logits` may be empty; otherwise forward makes the logits for it besides what the loss needs.
std::unique_ptr<Segment> make_head_segment(const config::ModelSettings& model, const Groups& groups,
                                           const shape::Trained& trained, OnLogits on_logits);

// The logits of rows of the stream in fp32, without tensor parallelism: x_MD -> [M, V]. `parameters` is the head's.
tensor::Tensor head_logits(const config::ModelSettings& model, const SegmentBuffer& parameters,
                           const tensor::Tensor& x_MD);

}  // namespace troika::model
