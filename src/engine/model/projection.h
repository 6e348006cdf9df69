// A projection of a block, y = x w^T + bias, over a flat piece of a segment's buffer that holds the weight, stored as the
// architecture stores it, and then the bias if there is one.
// Shapes: M rows, I inputs, O outputs of this rank, W = elements(). Dtypes as in kernels/cpu_operands.h; gradients fp32.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "kernels/linear.h"
#include "model/segment.h"
#include "model/segments.h"
#include "shape/adapter.h"
#include "shape/architecture.h"
#include "shape/layout.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::model {

// The adapters beside one projection of a block: y += scale * dropout(x) A^T B^T, each with its own rank and scale. q,
// k and v, or gate and up, are rows of one projection and read one x, so their A are stacked and one B has their rows,
// each in the columns of its own A; dropout of x is the same for all of them. Shapes: M rows, I inputs and O outputs of
// the projection on this rank, R all adapters' ranks together, W = elements(). Dtypes as in kernels/cpu_operands.h;
// gradients fp32.
struct LowRankSaved {
  tensor::Tensor h_MR, dh_MR;  // dropout(x) A^T times the scales; the gradient of dropout(x) A^T
  std::int64_t bytes() const;
};

class LowRank {
 public:
  // Beside `projection` of block `segment`. Of this rank as adapter_layout says.
  LowRank(const config::ModelSettings& model, const shape::Trained& trained, shape::FusedProjection projection,
          int segment, const Groups& groups);

  bool any() const { return R > 0; }
  std::int64_t elements() const;  // of its piece of the block's adapter buffer

  // What the projection's products add to y and to dx; nothing without adapters. backward_weight needs one.
  kernels::ColumnProducts forward(const tensor::Tensor& w_W, const tensor::Tensor& x_MI, const Tokens& tokens, LowRankSaved& saved) const;
  kernels::ColumnProducts backward_input(const tensor::Tensor& w_W, const tensor::Tensor& dy_MO, LowRankSaved& saved) const;
  // Whether dx gets what remains of that product behind dropout, and not the product itself.
  bool drops(const Tokens& tokens) const;
  tensor::Tensor dropped(const tensor::Tensor& x_MI, const Tokens& tokens) const;
  void backward_weight(const tensor::Destination& dw_W, const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI, const Tokens& tokens,
                       const LowRankSaved& saved) const;

 private:
  // The rows of y that one target gives, and its rows of A.
  struct Part {
    std::int64_t first = 0, rows = 0, first_rank = 0, rank = 0;
    float scale = 0;  // as forward and backward both read it
  };
  tensor::Tensor a(const tensor::Tensor& flat) const;                        // [R, I]
  tensor::Tensor b(const tensor::Tensor& flat, std::size_t part) const;      // [rows, rank]
  tensor::Tensor rank_columns(const tensor::Tensor& x_MR, std::size_t part) const;    // of a part
  tensor::Tensor output_columns(const tensor::Tensor& x_MO, std::size_t part) const;
  void scale(const tensor::Tensor& x_MR) const;  // each part by its own

  const Groups groups_;
  const double dropout_;
  const base::Philox random_;
  std::vector<Part> parts_;
  std::int64_t I = 0, O = 0, R = 0;
  std::int64_t first_input_ = 0;  // of this rank's, in the whole projection
  bool one_scale_ = true;         // all parts have the scale of the first
};

enum class ProjectionKind { queries_keys_values, other };

class Projection {
 public:
  Projection(const shape::Architecture& architecture, ProjectionKind kind, std::int64_t inputs, std::int64_t outputs);
  std::int64_t elements() const;
  bool adds_bias() const { return has_bias_; }

  // y_MO, and dx_MI below: plus `more`.
  tensor::Tensor forward(const tensor::Tensor& w_W, const tensor::Tensor& x_MI, const kernels::ColumnProducts& more = {}) const;
  // forward in two steps, where the projection's sum over tp ranks lies between them. add_bias works in place. plus_MO: as
  // that of kernels::linear_forward.
  tensor::Tensor multiply(const tensor::Tensor& w_W, const tensor::Tensor& x_MI, const tensor::Tensor& plus_MO = {},
                          const kernels::ColumnProducts& more = {}) const;
  void add_bias(const tensor::Tensor& w_W, const tensor::Tensor& y_MO) const;

  tensor::Tensor backward_input(const tensor::Tensor& w_W, const tensor::Tensor& dy_MO, const kernels::ColumnProducts& more = {}) const;
  void backward_weight(const tensor::Destination& dw_W, const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI) const;

 private:
  tensor::Tensor weight(const tensor::Tensor& flat) const;  // [O, I]; a transposed view where it is stored as [I, O]
  tensor::Tensor bias(const tensor::Tensor& flat) const;    // [O], undefined where there is none

  shape::Architecture::WeightOrder order_;
  bool has_bias_;
  std::int64_t I, O;
};

// A projection of a block with the adapters beside it, and whether its own weight is trained. Without adapters and with
// all trained it is its Projection. Shapes as above.
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
