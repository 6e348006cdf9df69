// A projection of a block, y = x w^T + bias, over a flat piece of a segment's buffer that holds the weight, stored as the
// architecture stores it, and then the bias if there is one.
// Shapes: M rows, I inputs, O outputs of this rank, W = elements(). Dtypes as in kernels/cpu_operands.h; gradients fp32.
#pragma once

#include <cstdint>

#include "model/low_rank.h"
#include "shape/architecture.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::model {

enum class ProjectionKind { queries_keys_values, other };

class Projection {
 public:
  Projection(const shape::Architecture& architecture, ProjectionKind kind, std::int64_t inputs, std::int64_t outputs);
  std::int64_t elements() const;
  bool adds_bias() const { return has_bias_; }

  tensor::Tensor forward(const tensor::Tensor& w_W, const tensor::Tensor& x_MI) const;  // y_MO
  // forward in two steps, where the projection's sum over tp ranks lies between them. add_bias works in place. plus_MO: as
  // that of kernels::linear_forward.
  tensor::Tensor multiply(const tensor::Tensor& w_W, const tensor::Tensor& x_MI, const tensor::Tensor& plus_MO = {}) const;
  void add_bias(const tensor::Tensor& w_W, const tensor::Tensor& y_MO) const;

  tensor::Tensor backward_input(const tensor::Tensor& w_W, const tensor::Tensor& dy_MO) const;  // dx_MI
  void backward_weight(const tensor::Destination& dw_W, const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI) const;

 private:
  tensor::Tensor weight(const tensor::Tensor& flat) const;  // [O, I]; a transposed view where it is stored as [I, O]
  tensor::Tensor bias(const tensor::Tensor& flat) const;    // [O], undefined where there is none

  shape::Architecture::WeightOrder order_;
  bool has_bias_;
  std::int64_t I, O;
};

// A projection of a block with the adapters beside it, and whether its own weight is trained. Without adapters and with
// all trained it is its Projection. Shapes as above and in low_rank.h.
// Its parts of a block's buffers (SegmentBuffer). adapter: undefined where the block has none.
struct ProjectionBuffer {
  tensor::Tensor own, adapter;
};
struct ProjectionLeaves {
  LeafPart own, adapter;
};

class AdaptedProjection {
 public:
  AdaptedProjection(const Projection& own, LowRank adapter, bool trained)
      : own_(own), adapter_(std::move(adapter)), trained_(trained) {}
  std::int64_t elements() const { return own_.elements(); }
  std::int64_t adapter_elements() const { return adapter_.elements(); }

  // Whether backward_weight reads x and dy; without, it is not to be called.
  bool has_gradient() const { return trained_ || adapter_.any(); }

  tensor::Tensor forward(const ProjectionBuffer& w, const tensor::Tensor& x_MI, const Tokens& tokens,
                         LowRankSaved& saved) const;
  // forward in two steps, where the projection's sum over tp ranks lies between them. add_bias works in place.
  tensor::Tensor multiply(const ProjectionBuffer& w, const tensor::Tensor& x_MI, const Tokens& tokens,
                          LowRankSaved& saved) const;
  // multiply() with plus_MO on top, by the product itself on a device. Of projections that are one product and no more.
  bool is_one_product() const { return !own_.adds_bias() && !adapter_.any(); }
  tensor::Tensor multiply_and_add(const ProjectionBuffer& w, const tensor::Tensor& x_MI,
                                  const tensor::Tensor& plus_MO) const {
    return own_.multiply(w.own, x_MI, plus_MO);
  }
  void add_bias(const ProjectionBuffer& w, const tensor::Tensor& y_MO) const { own_.add_bias(w.own, y_MO); }

  tensor::Tensor backward_input(const ProjectionBuffer& w, const tensor::Tensor& dy_MO, const Tokens& tokens,
                                LowRankSaved& saved) const;  // dx_MI
  void backward_weight(const ProjectionLeaves& dw, const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI,
                       const Tokens& tokens, const LowRankSaved& saved) const;

 private:
  Projection own_;
  LowRank adapter_;
  bool trained_;
};

}  // namespace troika::model
