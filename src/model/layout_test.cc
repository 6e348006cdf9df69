#include "model/layout.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

namespace troika::model {
namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

config::ModelSettings small(bool tied) {
  config::ModelSettings m;
  m.layers = 2;
  m.hidden = 64;
  m.heads = 4;
  m.kv_heads = 2;
  m.head_dim = 24;  // heads * head_dim differs from hidden, as in some published sizes
  m.ffn = 192;
  m.vocab = 259;
  m.tie_embeddings = tied;
  return m;
}

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

Shapes names_of(const std::vector<ParameterInfo>& all) {
  Shapes names;
  for (const auto& info : all) names[info.name] = info.shape;
  return names;
}

TEST(Layout, NamesAndShapesAreThosePublishedForQwen3) {
  for (const bool tied : {true, false}) {
    const auto all = all_parameters(small(tied));
    EXPECT_EQ(names_of(all), published_names(tied));
    EXPECT_EQ(all.size(), published_names(tied).size());
  }
}

TEST(Layout, AllParametersAreSortedByName) {
  config::ModelSettings m = small(false);
  m.layers = 12;  // "layers.10" sorts before "layers.2"
  const auto all = all_parameters(m);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].name, all[i].name);
}

TEST(Layout, MatricesDecayAndStartNormalNormsDoNeither) {
  for (const auto& info : all_parameters(small(false))) {
    const bool matrix = info.shape.size() == 2;
    EXPECT_EQ(info.decays, matrix) << info.name;
    EXPECT_EQ(info.init == ParameterInfo::Init::normal, matrix) << info.name;
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

TEST(StageLayout, SlotsFollowEachOtherWithoutGaps) {
  for (const bool tied : {true, false}) {
    for (int begin = 0; begin < 4; ++begin) {
      for (int end = begin + 1; end <= 4; ++end) {
        const StageLayout layout = stage_layout(small(tied), begin, end);
        std::int64_t offset = 0;
        for (const Slot& slot : layout.slots) {
          EXPECT_EQ(slot.offset, offset) << slot.info.name;
          EXPECT_GE(slot.segment, begin);
          EXPECT_LT(slot.segment, end);
          offset += slot.info.elements();
        }
        EXPECT_EQ(layout.parameter_elements, offset);
        EXPECT_EQ(layout.first_segment, begin);
        EXPECT_EQ(layout.end_segment, end);
        EXPECT_EQ(layout.segment_begin.size(), static_cast<std::size_t>(end - begin) + 1);
        EXPECT_EQ(layout.segment_begin.front(), 0);
      }
    }
  }
}

TEST(StageLayout, RowsThatOneProductReadsAreAdjacent) {
  const StageLayout layout = stage_layout(small(true), 1, 2);
  std::map<std::string, std::int64_t> offset;
  for (const Slot& slot : layout.slots)
    offset[slot.info.name.substr(std::string("model.layers.0.").size())] = slot.offset;
  EXPECT_EQ(offset["self_attn.k_proj.weight"], offset["self_attn.q_proj.weight"] + 96 * 64);
  EXPECT_EQ(offset["self_attn.v_proj.weight"], offset["self_attn.k_proj.weight"] + 48 * 64);
  EXPECT_EQ(offset["mlp.up_proj.weight"], offset["mlp.gate_proj.weight"] + 192 * 64);
}

TEST(StageLayout, StagesTogetherHoldEveryParameterOnce) {
  for (const bool tied : {true, false}) {
    const config::ModelSettings m = small(tied);
    for (const std::vector<int>& cuts : {std::vector<int>{0, 4}, {0, 1, 4}, {0, 3, 4}, {0, 1, 2, 3, 4}}) {
      std::map<std::string, int> owners;
      for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        const StageLayout layout = stage_layout(m, cuts[i], cuts[i + 1]);
        for (std::size_t s = 0; s < layout.slots.size(); ++s) {
          const bool copy = layout.tied_copy && s + 1 == layout.slots.size();
          owners[layout.slots[s].info.name] += copy ? 0 : 1;
        }
      }
      EXPECT_EQ(owners.size(), all_parameters(m).size());
      for (const auto& [name, count] : owners) EXPECT_EQ(count, 1) << name;
    }
  }
}

TEST(StageLayout, OneStageReadsTheTiedTableWhereItStandsButKeepsASecondGradient) {
  const config::ModelSettings m = small(true);
  const StageLayout layout = stage_layout(m, 0, segment_count(m));
  EXPECT_FALSE(layout.tied_copy);
  EXPECT_EQ(layout.tied_parameter, 0);
  EXPECT_EQ(layout.tied_use, layout.parameter_elements);
  EXPECT_EQ(layout.gradient_elements, layout.parameter_elements + 259 * 64);
  EXPECT_EQ(layout.parameter_elements, parameter_count(m));
}

TEST(StageLayout, TheHeadOnAnotherStageHoldsACopyOfTheTiedTable) {
  const config::ModelSettings m = small(true);
  const StageLayout layout = stage_layout(m, 2, segment_count(m));
  EXPECT_TRUE(layout.tied_copy);
  EXPECT_EQ(layout.slots.back().info.name, embedding_name);
  EXPECT_EQ(layout.slots.back().segment, segment_count(m) - 1);
  EXPECT_EQ(layout.slots.back().offset, layout.tied_use);
  EXPECT_EQ(layout.tied_parameter, layout.tied_use);
  EXPECT_EQ(layout.segment_begin.back(), layout.tied_use);
  EXPECT_EQ(layout.gradient_elements, layout.parameter_elements);
}

TEST(StageLayout, NothingIsTiedWithoutTheHeadOrInAnUntiedModel) {
  const config::ModelSettings tied = small(true), untied = small(false);
  for (const StageLayout& layout :
       {stage_layout(tied, 0, 3), stage_layout(tied, 1, 2), stage_layout(untied, 0, 4), stage_layout(untied, 2, 4)}) {
    EXPECT_EQ(layout.tied_use, -1);
    EXPECT_EQ(layout.tied_parameter, -1);
    EXPECT_FALSE(layout.tied_copy);
    EXPECT_EQ(layout.gradient_elements, layout.parameter_elements);
  }
}

TEST(SegmentCosts, CountTheProductsOfEachSegment) {
  const config::ModelSettings m = small(true);
  const auto costs = segment_costs(m, 32);
  ASSERT_EQ(costs.size(), 4U);
  EXPECT_EQ(costs[1], 64.0 * (96 + 2 * 48) + 96 * 64 + 3 * 64 * 192 + 2 * 96 * 32);
  EXPECT_EQ(costs[2], costs[1]);
  EXPECT_EQ(costs[3], 64.0 * 259);
  EXPECT_LT(costs[0], costs[1] / 100);
}

TEST(HuggingFaceConfig, HoldsTheNumbersUnderThePublishedKeys) {
  const auto j = nlohmann::json::parse(hugging_face_config(small(true)));
  EXPECT_EQ(j["architectures"], nlohmann::json({"Qwen3ForCausalLM"}));
  EXPECT_EQ(j["model_type"], "qwen3");
  EXPECT_EQ(j["hidden_size"], 64);
  EXPECT_EQ(j["num_hidden_layers"], 2);
  EXPECT_EQ(j["num_attention_heads"], 4);
  EXPECT_EQ(j["num_key_value_heads"], 2);
  EXPECT_EQ(j["head_dim"], 24);
  EXPECT_EQ(j["intermediate_size"], 192);
  EXPECT_EQ(j["vocab_size"], 259);
  EXPECT_EQ(j["tie_word_embeddings"], true);
  EXPECT_EQ(j["rope_theta"], 1e6);
  EXPECT_EQ(j["rms_norm_eps"], 1e-6);
  EXPECT_EQ(j["hidden_act"], "silu");
}

}  // namespace
}  // namespace troika::model
