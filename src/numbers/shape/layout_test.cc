#include "shape/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "config/presets.h"
#include "shape/layout_test_support.h"

namespace troika::shape {
namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

Shapes published_names(bool tied) {
  Shapes names{{"model.embed_tokens.weight", {259, 64}}, {"model.norm.weight", {64}}};
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    names[layer + "input_layernorm.weight"] = {64};
    names[layer + "self_attn.q_proj.weight"] = {96, 64};
    names[layer + "self_attn.k_proj.weight"] = {48, 64};
    names[layer + "self_attn.v_proj.weight"] = {48, 64};
    names[layer + "self_attn.o_proj.weight"] = {64, 96};
    names[layer + "self_attn.q_norm.weight"] = {24};
    names[layer + "self_attn.k_norm.weight"] = {24};
    names[layer + "post_attention_layernorm.weight"] = {64};
    names[layer + "mlp.gate_proj.weight"] = {192, 64};
    names[layer + "mlp.up_proj.weight"] = {192, 64};
    names[layer + "mlp.down_proj.weight"] = {64, 192};
  }
  if (!tied) names["lm_head.weight"] = {259, 64};
  return names;
}

Shapes published_names_of_gpt2(bool tied) {
  Shapes names{{"transformer.wte.weight", {259, 64}},
               {"transformer.wpe.weight", {40, 64}},
               {"transformer.ln_f.weight", {64}},
               {"transformer.ln_f.bias", {64}}};
  for (const std::string layer : {"transformer.h.0.", "transformer.h.1."}) {
    for (const std::string norm : {"ln_1", "ln_2"})
      for (const std::string part : {".weight", ".bias"}) names[layer + norm + part] = {64};
    names[layer + "attn.c_attn.weight"] = {64, 192};
    names[layer + "attn.c_attn.bias"] = {192};
    names[layer + "attn.c_proj.weight"] = {64, 64};
    names[layer + "attn.c_proj.bias"] = {64};
    names[layer + "mlp.c_fc.weight"] = {64, 192};
    names[layer + "mlp.c_fc.bias"] = {192};
    names[layer + "mlp.c_proj.weight"] = {192, 64};
    names[layer + "mlp.c_proj.bias"] = {64};
  }
  if (!tied) names["lm_head.weight"] = {259, 64};
  return names;
}

Shapes published_names_of(const std::string& architecture, bool tied) {
  Shapes names = published_names(tied);
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    names.erase(layer + "self_attn.q_norm.weight");
    names.erase(layer + "self_attn.k_norm.weight");
    if (architecture != "qwen2") continue;
    names[layer + "self_attn.q_proj.bias"] = {96};
    names[layer + "self_attn.k_proj.bias"] = {48};
    names[layer + "self_attn.v_proj.bias"] = {48};
  }
  return names;
}

Shapes names_of(const std::vector<ParameterInfo>& all) {
  Shapes names;
  for (const auto& info : all) names[info.name] = info.shape;
  return names;
}

TEST(Layout, NamesAndShapesAreThosePublishedForQwen3) {
  for (const bool tied : {true, false}) {
    const auto all = all_parameters(narrow(tied));
    EXPECT_EQ(names_of(all), published_names(tied));
    EXPECT_EQ(all.size(), published_names(tied).size());
  }
}

TEST(Layout, NamesAndShapesAreThosePublishedForQwen2LlamaAndMistral) {
  for (const std::string architecture : {"qwen2", "llama", "mistral"}) {
    for (const bool tied : {true, false}) {
      const auto all = all_parameters(narrow_as(architecture, tied));
      EXPECT_EQ(names_of(all), published_names_of(architecture, tied)) << architecture;
      EXPECT_EQ(all.size(), published_names_of(architecture, tied).size());
    }
  }
}

TEST(Layout, NamesAndShapesAreThosePublishedForGpt2) {
  for (const bool tied : {true, false}) {
    const auto all = all_parameters(narrow_gpt2(tied));
    EXPECT_EQ(names_of(all), published_names_of_gpt2(tied));
    EXPECT_EQ(all.size(), published_names_of_gpt2(tied).size());
  }
}

TEST(Layout, AllParametersAreSortedByName) {
  config::ModelSettings m = narrow(false);
  m.layers = 12;  // "layers.10" sorts before "layers.2"
  const auto all = all_parameters(m);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].name, all[i].name);
}

TEST(Layout, MatricesDecayAndStartNormalVectorsDoNeither) {
  for (const config::ModelSettings& m : {narrow(false), narrow_gpt2(false), narrow_as("qwen2", false)}) {
    for (const auto& info : all_parameters(m)) {
      const bool matrix = info.shape.size() == 2;
      EXPECT_EQ(info.decays, matrix) << info.name;
      EXPECT_EQ(info.init == ParameterInfo::Init::normal, matrix) << info.name;
    }
  }
}

struct Published {
  const char* name;
  std::int64_t hidden, layers, heads, kv_heads, head_dim, ffn;
  bool tied;
  std::int64_t parameters;
};

TEST(Layout, CountsOfThePublishedModelsAreReached) {
  for (const Published& p : {Published{"0.6B", 1024, 28, 16, 8, 128, 3072, true, 596049920},
                             Published{"1.7B", 2048, 28, 16, 8, 128, 6144, true, 1720574976},
                             Published{"4B", 2560, 36, 32, 8, 128, 9728, true, 4022468096},
                             Published{"8B", 4096, 36, 32, 8, 128, 12288, false, 8190735360},
                             Published{"14B", 5120, 40, 40, 8, 128, 17408, false, 14768307200},
                             Published{"32B", 5120, 64, 64, 8, 128, 25600, false, 32762123264}}) {
    config::ModelSettings m;
    m.hidden = p.hidden;
    m.layers = p.layers;
    m.heads = p.heads;
    m.kv_heads = p.kv_heads;
    m.head_dim = p.head_dim;
    m.ffn = p.ffn;
    m.vocab = 151936;
    m.tie_embeddings = p.tied;
    const std::int64_t attention = p.hidden * (2 * p.heads + 2 * p.kv_heads) * p.head_dim + 2 * p.head_dim;
    const std::int64_t block = attention + 3 * p.hidden * p.ffn + 2 * p.hidden;
    const std::int64_t arithmetic = (p.tied ? 1 : 2) * 151936 * p.hidden + p.layers * block + p.hidden;
    EXPECT_EQ(arithmetic, p.parameters) << p.name;
    EXPECT_EQ(parameter_count(m), p.parameters) << p.name;
  }
}

TEST(Layout, CountsOfThePublishedGpt2ModelsAreReached) {
  for (const auto& [name, parameters] : {std::pair<const char*, std::int64_t>{"gpt2-124m", 124439808},
                                         {"gpt2-medium", 354823168},
                                         {"gpt2-large", 774030080},
                                         {"gpt2-xl", 1557611200}})
    EXPECT_EQ(parameter_count(config::find_preset(name)), parameters) << name;
}

// Sums over the tensors of the published weights.
TEST(Layout, CountsOfThePublishedQwen2LlamaAndMistralModelsAreReached) {
  for (const auto& [name, parameters] : {std::pair<const char*, std::int64_t>{"qwen2.5-0.5b", 494032768},
                                         {"qwen2.5-1.5b", 1543714304},
                                         {"qwen2.5-3b", 3085938688},
                                         {"qwen2.5-7b", 7615616512},
                                         {"qwen2.5-14b", 14770033664},
                                         {"qwen2.5-32b", 32763876352},
                                         {"qwen2.5-72b", 72706203648},
                                         {"llama3.2-1b", 1235814400},
                                         {"llama3.2-3b", 3212749824},
                                         {"llama3.1-8b", 8030261248},
                                         {"llama3.1-70b", 70553706496},
                                         {"mistral-7b", 7248023552}})
    EXPECT_EQ(parameter_count(config::find_preset(name)), parameters) << name;
}

}  // namespace
}  // namespace troika::shape
