#include "model/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "config/lora.h"
#include "model/architecture.h"
#include "model/layout_builder.h"

namespace troika::model {
namespace {

// A product with the parameter whose name it has, "model.layers.0.self_attn.q_proj.weight".
struct Target {
  std::string name;  // without "weight"
  std::string product;
  std::int64_t inputs, outputs;
};

std::vector<Target> targets_of(const config::ModelSettings& model, const config::LoraSettings& lora, int segment) {
  std::vector<Target> targets;
  if (!has_adapters(lora) || segment == 0 || segment > model.layers) return targets;
  const std::vector<std::string> wanted = config::lora_targets(lora);
  const std::vector<ParameterInfo> infos = segment_parameters(model, segment);
  for (const std::string& product : wanted) {
    const std::string ending = "." + product + ".weight";
    const auto found = std::find_if(infos.begin(), infos.end(), [&](const ParameterInfo& info) {
      return info.name.size() > ending.size() &&
             info.name.compare(info.name.size() - ending.size(), ending.size(), ending) == 0;
    });
    if (found == infos.end()) {
      throw base::ConfigError(
          fmt::format("lora.targets names {}, but layers of model.architecture {} have no such product", product,
                      model.architecture));
    }
    const std::string stem = found->name.substr(0, found->name.size() - std::string("weight").size());
    targets.push_back({stem, product, found->shape[1], found->shape[0]});
  }
  return targets;
}

ParameterInfo down(const Target& target, std::int64_t rank) {
  ParameterInfo info = matrix(target.name + "lora_A.weight", rank, target.inputs);
  info.init = ParameterInfo::Init::uniform;
  info.init_scale = 1 / std::sqrt(static_cast<double>(target.inputs));
  return info;
}

ParameterInfo up(const Target& target, std::int64_t rank) {
  ParameterInfo info = matrix(target.name + "lora_B.weight", target.outputs, rank);
  info.init = ParameterInfo::Init::zeros;
  return info;
}

// Targets of one product: q, k and v, or gate and up, are rows of one.
std::vector<std::vector<Target>> by_product(const std::vector<Target>& targets) {
  std::vector<std::vector<Target>> products;
  for (const Target& target : targets) {
    const bool joins =
        !products.empty() && ((product_of(products.back().front().product) == product_of(target.product)));
    if (!joins) products.emplace_back();
    products.back().push_back(target);
  }
  return products;
}

// A product whose outputs are split gets a summand of A's gradient from each rank's outputs; one whose inputs are
// split, of B's from each rank's inputs.
void split_down(LayoutBuilder& builder, const config::ModelSettings& model, const Target& target, std::int64_t rank) {
  const ParameterInfo info = down(target, rank);
  if (target.product == "o_proj") return builder.columns(info, builder.widths().heads, model.head_dim);
  if (target.product == "down_proj") return builder.columns(info, builder.widths().ffn);
  builder.everywhere(info, Found::of_own_part);
}

void split_up(LayoutBuilder& builder, const config::ModelSettings& model, const Target& target, std::int64_t rank) {
  const ParameterInfo info = up(target, rank);
  const std::string& product = target.product;
  if (product == "o_proj" || product == "down_proj") return builder.everywhere(info, Found::of_own_part);
  if (product == "q_proj") return builder.rows(info, builder.widths().heads, model.head_dim);
  if (product == "k_proj" || product == "v_proj") return builder.key_rows(info);
  builder.rows(info, builder.widths().ffn);
}

}  // namespace

double adapter_scale(const config::LoraSettings& lora) {
  return lora.alpha == 0 ? 2 : lora.alpha / static_cast<double>(lora.rank);
}

AdaptedProduct product_of(const std::string& target) {
  if (target == "o_proj") return AdaptedProduct::attention_output;
  if (target == "down_proj") return AdaptedProduct::feed_forward_output;
  return target == "gate_proj" || target == "up_proj" ? AdaptedProduct::feed_forward_input
                                                      : AdaptedProduct::queries_keys_values;
}

std::vector<ParameterInfo> adapter_parameters(const config::ModelSettings& model, const config::LoraSettings& lora,
                                              int segment) {
  std::vector<ParameterInfo> infos;
  for (const auto& product : by_product(targets_of(model, lora, segment))) {
    for (const Target& target : product) infos.push_back(down(target, lora.rank));
    for (const Target& target : product) infos.push_back(up(target, lora.rank));
  }
  return infos;
}

SegmentLayout adapter_layout(const config::ModelSettings& model, const config::LoraSettings& lora, int segment,
                             const TensorShare& share) {
  LayoutBuilder builder(model, segment, share);
  for (const auto& product : by_product(targets_of(model, lora, segment))) {
    for (const Target& target : product) split_down(builder, model, target, lora.rank);
    for (const Target& target : product) split_up(builder, model, target, lora.rank);
  }
  return builder.take();
}

}  // namespace troika::model
