#include "model/projection.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/lora.h"
#include "kernels/rows.h"
#include "kernels/linear.h"

namespace troika::model {

static bool has_bias(const shape::Architecture& architecture, ProjectionKind kind) {
  if (architecture.bias == shape::Architecture::Bias::queries_keys_values)
    return kind == ProjectionKind::queries_keys_values;
  return architecture.bias == shape::Architecture::Bias::everywhere;
}

Projection::Projection(const shape::Architecture& architecture, ProjectionKind kind, std::int64_t inputs,
                       std::int64_t outputs)
    : order_(architecture.order), has_bias_(has_bias(architecture, kind)), I(inputs), O(outputs) {}

std::int64_t Projection::elements() const { return O * I + (has_bias_ ? O : 0); }

tensor::Tensor Projection::weight(const tensor::Tensor& flat) const {
  const tensor::Tensor own = flat.narrow(0, 0, O * I);
  return order_ == shape::Architecture::WeightOrder::out_in ? own.view({O, I}) : own.view({I, O}).t();
}

tensor::Tensor Projection::bias(const tensor::Tensor& flat) const {
  return has_bias_ ? flat.narrow(0, O * I, O) : tensor::Tensor();
}

tensor::Tensor Projection::forward(const tensor::Tensor& w_W, const tensor::Tensor& x_MI,
                                   const kernels::ColumnProducts& more) const {
  return kernels::linear_forward(x_MI, weight(w_W), bias(w_W), {}, more);
}

tensor::Tensor Projection::multiply(const tensor::Tensor& w_W, const tensor::Tensor& x_MI, const tensor::Tensor& plus_MO,
                                    const kernels::ColumnProducts& more) const {
  return kernels::linear_forward(x_MI, weight(w_W), {}, plus_MO, more);
}

void Projection::add_bias(const tensor::Tensor& w_W, const tensor::Tensor& y_MO) const {
  if (has_bias_) tensor::add(y_MO, bias(w_W));
}

tensor::Tensor Projection::backward_input(const tensor::Tensor& w_W, const tensor::Tensor& dy_MO,
                                          const kernels::ColumnProducts& more) const {
  return kernels::linear_backward_input(dy_MO, weight(w_W), more);
}

void Projection::backward_weight(const tensor::Destination& dw_W, const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI) const {
  kernels::linear_backward_weight(dy_MO, x_MI, weight(dw_W.elements), dw_W.sum);
  if (has_bias_) kernels::linear_backward_bias(dy_MO, bias(dw_W.elements), dw_W.sum);
}

tensor::Tensor AdaptedProjection::forward(const ProjectionBuffer& w, const tensor::Tensor& x_MI, const Tokens& tokens,
                                          LowRankSaved& saved) const {
  return own_.forward(w.own, x_MI, adapter_.forward(w.adapter, x_MI, tokens, saved));
}

tensor::Tensor AdaptedProjection::multiply(const ProjectionBuffer& w, const tensor::Tensor& x_MI, const Tokens& tokens,
                                           LowRankSaved& saved) const {
  return own_.multiply(w.own, x_MI, {}, adapter_.forward(w.adapter, x_MI, tokens, saved));
}

tensor::Tensor AdaptedProjection::backward_input(const ProjectionBuffer& w, const tensor::Tensor& dy_MO,
                                                 const Tokens& tokens, LowRankSaved& saved) const {
  const kernels::ColumnProducts of_adapter = adapter_.backward_input(w.adapter, dy_MO, saved);
  if (!adapter_.drops(tokens)) return own_.backward_input(w.own, dy_MO, of_adapter);
  tensor::Tensor dx_MI = own_.backward_input(w.own, dy_MO);
  for (const kernels::ColumnProduct& one : of_adapter)
    tensor::add(dx_MI, adapter_.dropped(kernels::linear_backward_input(one.a_MK, one.b_KN), tokens));
  return dx_MI;
}

void AdaptedProjection::backward_weight(const ProjectionLeaves& dw, const tensor::Tensor& dy_MO,
                                        const tensor::Tensor& x_MI, const Tokens& tokens,
                                        const LowRankSaved& saved) const {
  if (trained_) {
    own_.backward_weight(dw.own.open_sum(), dy_MO, x_MI);
    dw.own.close();
  }
  if (adapter_.any()) {
    adapter_.backward_weight(dw.adapter.open_sum(), dy_MO, x_MI, tokens, saved);
    dw.adapter.close();
  }
}

namespace {

// A target of the projection, with the rows that it has on this rank.
struct Rows {
  config::Projection target;
  std::int64_t count;
};

std::vector<Rows> rows_of(const config::ModelSettings& model, const shape::LocalWidths& widths,
                          shape::FusedProjection projection) {
  using config::Projection;
  const std::int64_t H = model.head_dim;
  switch (projection) {
    case shape::FusedProjection::queries_keys_values:
      return {{Projection::q, widths.heads.count * H},
              {Projection::k, widths.kv_heads.count * H},
              {Projection::v, widths.kv_heads.count * H}};
    case shape::FusedProjection::attention_output:
      return {{Projection::o, model.hidden}};
    case shape::FusedProjection::feed_forward_input:
      return {{Projection::gate, widths.ffn.count}, {Projection::up, widths.ffn.count}};
    case shape::FusedProjection::feed_forward_output:
      return {{Projection::down, model.hidden}};
  }
  return {};
}

shape::Range inputs_of(const config::ModelSettings& model, const shape::LocalWidths& widths,
                       shape::FusedProjection projection) {
  const std::int64_t H = model.head_dim;
  if (projection == shape::FusedProjection::attention_output) return {widths.heads.begin * H, widths.heads.count * H};
  if (projection == shape::FusedProjection::feed_forward_output) return widths.ffn;
  return {0, model.hidden};
}

std::string stream_name(shape::FusedProjection projection, int segment) {
  return fmt::format("layers.{}.product.{}.dropout", segment - 1, static_cast<int>(projection));
}

}  // namespace

std::int64_t LowRankSaved::bytes() const { return bytes_of({&h_MR, &dh_MR}); }

LowRank::LowRank(const config::ModelSettings& model, const shape::Trained& trained, shape::FusedProjection projection,
                 int segment, const Groups& groups)
    : groups_(groups),
      dropout_(trained.lora.dropout),
      random_(trained.seed, stream_name(projection, segment)) {
  if (!shape::has_adapters(trained.lora)) return;
  const std::vector<config::Projection> targets = config::adapted_projections(trained.lora);
  const shape::LocalWidths widths = shape::local_widths(model, groups.share());
  const shape::Range inputs = inputs_of(model, widths, projection);
  I = inputs.count;
  first_input_ = inputs.begin;
  for (const Rows& rows : rows_of(model, widths, projection)) {
    if (std::find(targets.begin(), targets.end(), rows.target) != targets.end()) {
      const config::AdapterSize size = config::adapter_size(trained.lora, {segment - 1, rows.target});
      parts_.push_back({O, rows.count, R, size.rank, static_cast<float>(size.scale)});
      R += size.rank;
      one_scale_ = one_scale_ && parts_.back().scale == parts_.front().scale;
    }
    O += rows.count;
  }
}

std::int64_t LowRank::elements() const {
  std::int64_t sum = R * I;
  for (const Part& part : parts_) sum += part.rows * part.rank;
  return sum;
}

tensor::Tensor LowRank::a(const tensor::Tensor& flat) const { return flat.narrow(0, 0, R * I).view({R, I}); }

tensor::Tensor LowRank::b(const tensor::Tensor& flat, std::size_t part) const {
  std::int64_t offset = R * I;
  for (std::size_t before = 0; before < part; ++before) offset += parts_[before].rows * parts_[before].rank;
  const Part& p = parts_[part];
  return flat.narrow(0, offset, p.rows * p.rank).view({p.rows, p.rank});
}

static kernels::DropoutRows rows_of(const Tokens& tokens, const sharding::ContextGroup& context) {
  kernels::DropoutRows rows;
  rows.step = static_cast<std::uint64_t>(tokens.step);
  for (const shape::Sequence& sequence : tokens.sequences) {
    const shape::SequenceChunks chunks = shape::sequence_chunks(sequence.length, context.rank(), context.size());
    for (const shape::Range& chunk : {chunks.low, chunks.high})
      if (chunk.count > 0) rows.runs.push_back({sequence.sample, sequence.offset + chunk.begin, chunk.count});
  }
  return rows;
}

bool LowRank::drops(const Tokens& tokens) const { return dropout_ != 0 && tokens.step != 0; }

tensor::Tensor LowRank::dropped(const tensor::Tensor& x_MI, const Tokens& tokens) const {
  if (!drops(tokens)) return x_MI;
  return kernels::dropout(x_MI, random_, rows_of(tokens, *groups_.context), first_input_, dropout_);
}

tensor::Tensor LowRank::rank_columns(const tensor::Tensor& x_MR, std::size_t part) const {
  return x_MR.narrow(1, parts_[part].first_rank, parts_[part].rank);
}

tensor::Tensor LowRank::output_columns(const tensor::Tensor& x_MO, std::size_t part) const {
  return x_MO.narrow(1, parts_[part].first, parts_[part].rows);
}

void LowRank::scale(const tensor::Tensor& x_MR) const {
  if (one_scale_) return tensor::multiply(x_MR, parts_.front().scale);
  for (std::size_t part = 0; part < parts_.size(); ++part) tensor::multiply(rank_columns(x_MR, part), parts_[part].scale);
}

kernels::ColumnProducts LowRank::forward(const tensor::Tensor& w_W, const tensor::Tensor& x_MI, const Tokens& tokens, LowRankSaved& s) const {
  if (!any()) return {};
  s.h_MR = kernels::linear_forward(dropped(x_MI, tokens), a(w_W));
  scale(s.h_MR);
  kernels::ColumnProducts products;
  for (std::size_t part = 0; part < parts_.size(); ++part)
    products.push_back({parts_[part].first, rank_columns(s.h_MR, part), b(w_W, part).t()});
  return products;
}

// Dropout is a product with the mask, forward and backward.
kernels::ColumnProducts LowRank::backward_input(const tensor::Tensor& w_W, const tensor::Tensor& dy_MO, LowRankSaved& s) const {
  if (!any()) return {};
  s.dh_MR = tensor::empty({dy_MO.size(0), R}, dy_MO.type());
  for (std::size_t part = 0; part < parts_.size(); ++part)
    kernels::linear_backward_input_into(output_columns(dy_MO, part), b(w_W, part), rank_columns(s.dh_MR, part));
  scale(s.dh_MR);
  return {{0, s.dh_MR, a(w_W)}};
}

void LowRank::backward_weight(const tensor::Destination& dw_W, const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI,
                              const Tokens& tokens, const LowRankSaved& s) const {
  const auto& [dw, sum] = dw_W;
  kernels::linear_backward_weight(s.dh_MR, dropped(x_MI, tokens), a(dw), sum);
  for (std::size_t part = 0; part < parts_.size(); ++part)
    kernels::linear_backward_weight(output_columns(dy_MO, part), rank_columns(s.h_MR, part), b(dw, part), sum);
}

}  // namespace troika::model
