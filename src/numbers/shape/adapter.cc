#include "shape/adapter.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/lora.h"
#include "shape/architecture.h"
#include "shape/layout_builder.h"

namespace troika::shape {

using config::Projection;

namespace {

// A projection with the parameter whose name it has, "model.layers.0.self_attn.q_proj.weight".
struct Target {
  std::string name;  // without "weight"
  Projection projection;
  std::int64_t inputs, outputs, rank;
};

std::vector<Target> targets_of(const config::ModelSettings& model, const config::LoraSettings& lora, int segment) {
  std::vector<Target> targets;
  if (!has_adapters(lora) || segment == 0 || segment > model.layers) return targets;
  const std::vector<ParameterInfo> infos = segment_parameters(model, segment);
  const BlockKind kind = block_kind(model, segment);
  for (const Projection projection : config::adapted_projections(lora)) {
    if (!kind.has(projection)) continue;
    const std::string ending = "." + word_of(projection) + ".weight";
    const auto found = std::find_if(infos.begin(), infos.end(),
                                    [&](const ParameterInfo& info) { return base::ends_with(info.name, ending); });
    if (found == infos.end())
      throw base::ConfigError(base::say("lora.targets names {}, but layers of model.architecture {} have no such projection", word_of(projection), word_of(model.architecture)));
    const std::string stem = found->name.substr(0, found->name.size() - std::string("weight").size());
    const std::int64_t rank = config::adapter_size(lora, {segment - 1, projection}).rank;
    targets.push_back({stem, projection, found->shape[1], found->shape[0], rank});
  }
  return targets;
}

ParameterInfo down(const Target& target) {
  ParameterInfo info = matrix(target.name + "lora_A.weight", target.rank, target.inputs);
  info.init = ParameterInfo::Init::uniform;
  info.init_scale = 1 / std::sqrt(static_cast<double>(target.inputs));
  return info;
}

ParameterInfo up(const Target& target) {
  ParameterInfo info = matrix(target.name + "lora_B.weight", target.outputs, target.rank);
  info.init = ParameterInfo::Init::zeros;
  return info;
}

// Targets of one projection: q, k and v, or gate and up, are rows of one.
std::vector<std::vector<Target>> by_fused_projection(const std::vector<Target>& targets) {
  std::vector<std::vector<Target>> projections;
  for (const Target& target : targets) {
    const bool joins =
        !projections.empty() &&
        ((fused_projection_of(projections.back().front().projection) == fused_projection_of(target.projection)));
    if (!joins) projections.emplace_back();
    projections.back().push_back(target);
  }
  return projections;
}

// A projection whose outputs are split gets a summand of A's gradient from each rank's outputs; one whose inputs are
// split, of B's from each rank's inputs.
void split_down(LayoutBuilder& builder, const config::ModelSettings& model, const Target& target) {
  const ParameterInfo info = down(target);
  if (target.projection == Projection::o) return builder.columns(info, builder.widths().heads, model.head_dim);
  if (target.projection == Projection::down) return builder.columns(info, builder.widths().ffn);
  builder.everywhere(info, Found::of_own_part);
}

void split_up(LayoutBuilder& builder, const config::ModelSettings& model, const Target& target) {
  const ParameterInfo info = up(target);
  const Projection projection = target.projection;
  if (projection == Projection::o || projection == Projection::down)
    return builder.everywhere(info, Found::of_own_part);
  if (projection == Projection::q) return builder.rows(info, builder.widths().heads, model.head_dim);
  if (projection == Projection::k || projection == Projection::v) return builder.key_rows(info);
  builder.rows(info, builder.widths().ffn);
}

}  // namespace

FusedProjection fused_projection_of(Projection target) {
  if (target == Projection::o) return FusedProjection::attention_output;
  if (target == Projection::down) return FusedProjection::feed_forward_output;
  const bool feeds_forward = target == Projection::gate || target == Projection::up;
  return feeds_forward ? FusedProjection::feed_forward_input : FusedProjection::queries_keys_values;
}

std::vector<ParameterInfo> adapter_parameters(const config::ModelSettings& model, const config::LoraSettings& lora,
                                              int segment) {
  std::vector<ParameterInfo> infos;
  for (const auto& projection : by_fused_projection(targets_of(model, lora, segment))) {
    for (const Target& target : projection) infos.push_back(down(target));
    for (const Target& target : projection) infos.push_back(up(target));
  }
  return infos;
}

SegmentLayout adapter_layout(const config::ModelSettings& model, const config::LoraSettings& lora, int segment,
                             const TensorShare& share) {
  LayoutBuilder builder(model, segment, share);
  for (const auto& projection : by_fused_projection(targets_of(model, lora, segment))) {
    for (const Target& target : projection) split_down(builder, model, target);
    for (const Target& target : projection) split_up(builder, model, target);
    builder.end_piece();
  }
  return builder.take();
}

}  // namespace troika::shape
