#include "model/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "config/config.h"
#include "config/model_config.h"
#include "config/presets.h"

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

config::ModelSettings small_gpt2(bool tied) {
  config::ModelSettings m = small(tied);
  m.architecture = "gpt2";
  m.kv_heads = m.heads;
  m.head_dim = 16;
  m.max_positions = 40;
  return m;
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

config::ModelSettings small_as(const std::string& architecture, bool tied) {
  config::ModelSettings m = small(tied);
  m.architecture = architecture;
  return m;
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
    const auto all = all_parameters(small(tied));
    EXPECT_EQ(names_of(all), published_names(tied));
    EXPECT_EQ(all.size(), published_names(tied).size());
  }
}

TEST(Layout, NamesAndShapesAreThosePublishedForQwen2LlamaAndMistral) {
  for (const std::string architecture : {"qwen2", "llama", "mistral"}) {
    for (const bool tied : {true, false}) {
      const auto all = all_parameters(small_as(architecture, tied));
      EXPECT_EQ(names_of(all), published_names_of(architecture, tied)) << architecture;
      EXPECT_EQ(all.size(), published_names_of(architecture, tied).size());
    }
  }
}

TEST(Layout, NamesAndShapesAreThosePublishedForGpt2) {
  for (const bool tied : {true, false}) {
    const auto all = all_parameters(small_gpt2(tied));
    EXPECT_EQ(names_of(all), published_names_of_gpt2(tied));
    EXPECT_EQ(all.size(), published_names_of_gpt2(tied).size());
  }
}

TEST(Layout, AnUnknownArchitectureIsRefused) {
  config::ModelSettings m = small(true);
  m.architecture = "gpt3";
  EXPECT_THROW(all_parameters(m), base::ConfigError);
}

TEST(Layout, AllParametersAreSortedByName) {
  config::ModelSettings m = small(false);
  m.layers = 12;  // "layers.10" sorts before "layers.2"
  const auto all = all_parameters(m);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].name, all[i].name);
}

TEST(Layout, MatricesDecayAndStartNormalVectorsDoNeither) {
  for (const config::ModelSettings& m : {small(false), small_gpt2(false), small_as("qwen2", false)}) {
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

std::vector<config::ModelSettings> uneven_models() {
  std::vector<config::ModelSettings> models;
  for (const auto& [heads, kv_heads] : {std::pair{8, 2}, {8, 1}, {8, 4}, {8, 8}, {6, 3}, {6, 2}, {9, 3}, {12, 3}}) {
    config::ModelSettings m = small(models.size() % 2 == 0);
    m.heads = heads;
    m.kv_heads = kv_heads;
    m.head_dim = 6;
    m.ffn = 191;
    models.push_back(m);
  }
  for (const std::int64_t kv_heads : {2, 3, 9}) {  // of 6, 9 and 9 query heads
    models.push_back(small_as("qwen2", kv_heads == 3));
    models.back().heads = kv_heads == 2 ? 6 : 9;
    models.back().kv_heads = kv_heads;
    models.back().head_dim = 6;
  }
  for (const std::int64_t heads : {6, 7}) {
    config::ModelSettings m = small_gpt2(heads % 2 == 0);
    m.heads = m.kv_heads = heads;
    m.head_dim = 6;
    m.hidden = heads * 6;
    m.ffn = 191;
    models.push_back(m);
  }
  return models;
}

TEST(SegmentLayout, OfOneRankHoldsEveryParameterWhole) {
  for (const config::ModelSettings& m : {small(true), small(false), small_as("qwen2", true), small_as("llama", false),
                                         small_gpt2(true), small_gpt2(false)}) {
    for (int segment = 0; segment < segment_count(m); ++segment) {
      const auto infos = segment_parameters(m, segment);
      const SegmentLayout layout = segment_layout(m, segment);
      ASSERT_EQ(layout.slots.size(), infos.size());
      for (std::size_t i = 0; i < infos.size(); ++i) {
        EXPECT_EQ(layout.slots[i].info.name, infos[i].name);
        EXPECT_TRUE(sharding::is_whole(layout.slots[i].region, infos[i].elements()));
        EXPECT_EQ(local_shape(layout.slots[i]), infos[i].shape);
      }
    }
  }
}

TEST(SegmentLayout, SlotsFollowEachOtherWithoutGaps) {
  for (const config::ModelSettings& m : uneven_models()) {
    for (const int size : {1, 2, 3, 4, 5, 6}) {
      for (int rank = 0; rank < size; ++rank) {
        for (int segment = 0; segment < segment_count(m); ++segment) {
          const SegmentLayout layout = segment_layout(m, segment, {rank, size});
          EXPECT_EQ(layout.segment, segment);
          std::int64_t offset = 0;
          for (const Slot& slot : layout.slots) {
            EXPECT_EQ(slot.offset, offset) << slot.info.name;
            EXPECT_EQ(sharding::region_problem(slot.region, slot.info.elements()), "") << slot.info.name;
            EXPECT_EQ(sharding::element_count(local_shape(slot)), slot.elements()) << slot.info.name;
            EXPECT_LE(slot.first_holder, rank);
            EXPECT_GT(slot.end_holder, rank);
            offset += slot.elements();
          }
          EXPECT_EQ(layout.elements, offset);
        }
      }
    }
  }
}

TEST(SegmentLayout, FirstHoldersTogetherHoldEveryElementOnce) {
  for (const config::ModelSettings& m : uneven_models()) {
    for (const int size : {1, 2, 3, 4, 5, 6}) {
      std::map<std::string, std::vector<int>> held;
      for (const auto& info : all_parameters(m)) held[info.name].assign(static_cast<std::size_t>(info.elements()), 0);
      for (int rank = 0; rank < size; ++rank) {
        for (int segment = 0; segment < segment_count(m); ++segment) {
          for (const Slot& slot : segment_layout(m, segment, {rank, size}).slots) {
            if (slot.first_holder != rank) continue;
            for (std::int64_t i = 0; i < slot.region.count; ++i) {
              for (std::int64_t k = 0; k < slot.region.run; ++k)
                ++held[slot.info.name][static_cast<std::size_t>(slot.region.offset + i * slot.region.stride + k)];
            }
          }
        }
      }
      for (const auto& [name, counts] : held)
        EXPECT_EQ(std::count(counts.begin(), counts.end(), 1), static_cast<std::ptrdiff_t>(counts.size()))
            << name << " over " << size;
    }
  }
}

TEST(SegmentLayout, HoldersOfASlotHoldTheSameElements) {
  for (const config::ModelSettings& m : uneven_models()) {
    for (const int size : {2, 3, 4, 5, 6}) {
      std::map<std::string, std::set<int>> holders;  // by name and region
      std::map<std::string, std::pair<int, int>> told;
      for (int rank = 0; rank < size; ++rank) {
        for (const Slot& slot : segment_layout(m, 1, {rank, size}).slots) {
          const std::string key = slot.info.name + sharding::region_to_text(slot.region, slot.info.shape);
          holders[key].insert(rank);
          const std::pair<int, int> range{slot.first_holder, slot.end_holder};
          EXPECT_EQ(told.emplace(key, range).first->second, range) << key;
        }
      }
      for (const auto& [key, ranks] : holders) {
        EXPECT_EQ(*ranks.begin(), told.at(key).first) << key;
        EXPECT_EQ(*ranks.rbegin() + 1, told.at(key).second) << key;
        EXPECT_EQ(static_cast<int>(ranks.size()), told.at(key).second - told.at(key).first) << key;
      }
    }
  }
}

TEST(SegmentLayout, KeyHeadsAreCutWhereTheirHoldersChange) {
  config::ModelSettings m = small(true);
  m.heads = 9;
  m.kv_heads = 3;
  std::vector<std::pair<int, int>>
      holders;  // rank 1 of 2 has query heads 4 to 8, so key heads 1 (shared) and 2 (its own)
  for (const Slot& slot : segment_layout(m, 1, {1, 2}).slots) {
    if (slot.info.name == "model.layers.0.self_attn.k_proj.weight")
      holders.emplace_back(slot.first_holder, slot.end_holder);
  }
  EXPECT_EQ(holders, (std::vector<std::pair<int, int>>{{0, 2}, {1, 2}}));
}

TEST(SegmentLayout, RowsThatOneProductReadsAreAdjacent) {
  for (const int size : {1, 2}) {
    const SegmentLayout layout = segment_layout(small(true), 1, {size - 1, size});
    std::map<std::string, std::int64_t> offset;
    for (const Slot& slot : layout.slots)
      offset[slot.info.name.substr(std::string("model.layers.0.").size())] = slot.offset;
    EXPECT_EQ(offset["self_attn.k_proj.weight"], offset["self_attn.q_proj.weight"] + 96 / size * 64);
    EXPECT_EQ(offset["self_attn.v_proj.weight"], offset["self_attn.k_proj.weight"] + 48 / size * 64);
    EXPECT_EQ(offset["mlp.up_proj.weight"], offset["mlp.gate_proj.weight"] + 192 / size * 64);
  }
}

TEST(SegmentLayout, TheBiasesOfQwen2StandBehindTheRowsOfTheirProductAndAreCutAlike) {
  config::ModelSettings m = small_as("qwen2", true);
  m.heads = 9;
  m.kv_heads = 3;
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<int, int>>> holders;
  const SegmentLayout layout = segment_layout(m, 1, {1, 2});
  for (const Slot& slot : layout.slots) {
    const std::string name = slot.info.name.substr(std::string("model.layers.0.").size());
    if (order.empty() || order.back() != name) order.push_back(name);
    holders[name].emplace_back(slot.first_holder, slot.end_holder);
    if (name == "self_attn.k_proj.bias") {
      EXPECT_EQ(slot.elements(), m.head_dim);
      EXPECT_EQ(slot.found, Found::of_own_heads);
    }
  }
  EXPECT_EQ(std::vector<std::string>(order.begin() + 1, order.begin() + 7),
            (std::vector<std::string>{"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight",
                                      "self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"}));
  EXPECT_EQ(holders["self_attn.k_proj.bias"], (std::vector<std::pair<int, int>>{{0, 2}, {1, 2}}));
  for (const std::string part : {"q", "k", "v"})
    EXPECT_EQ(holders["self_attn." + part + "_proj.bias"], holders["self_attn." + part + "_proj.weight"]) << part;
}

TEST(SegmentLayout, QueriesKeysAndValuesOfGpt2AreOneSlotOfTheSameColumnsOfEach) {
  const config::ModelSettings m = small_gpt2(true);
  const auto slots = segment_layout(m, 1, {1, 4}).slots;
  const auto slot = std::find_if(slots.begin(), slots.end(),
                                 [](const Slot& s) { return s.info.name == "transformer.h.0.attn.c_attn.weight"; });
  ASSERT_NE(slot, slots.end());
  EXPECT_EQ(local_shape(*slot), (std::vector<std::int64_t>{64, 3 * 16}));
  std::vector<std::int64_t> first_row;
  for (std::int64_t i = 0; i < 3; ++i) first_row.push_back(slot->region.offset + i * slot->region.stride);
  EXPECT_EQ(first_row, (std::vector<std::int64_t>{16, 64 + 16, 128 + 16}));
  EXPECT_EQ(slot->region.run, 16);
  const auto bias = slot + 1;
  EXPECT_EQ(bias->info.name, "transformer.h.0.attn.c_attn.bias");
  EXPECT_EQ(bias->elements(), 3 * 16);
  EXPECT_EQ(bias->region.offset, 16);
  EXPECT_EQ(bias->region.stride, 64);
}

TEST(SegmentLayout, TheTiedUseHasTheSlotsOfTheEmbedding) {
  const SegmentLayout layout = tied_layout(small(true), {1, 2});
  ASSERT_EQ(layout.slots.size(), 1U);
  EXPECT_EQ(layout.slots[0].info.name, "model.embed_tokens.weight");
  EXPECT_EQ(layout.slots[0].region.offset, 129 * 64);
  EXPECT_EQ(layout.elements, 130 * 64);
  EXPECT_EQ(tied_layout(small_gpt2(true), {1, 2}).elements, (130 + 40) * 64);
}

TEST(SegmentLayout, MoreRanksThanHeadsAreRefused) {
  EXPECT_THROW(segment_layout(small(true), 1, {0, 5}), base::ConfigError);
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

TEST(SegmentCosts, OfGpt2HaveOneProductLessInTheFeedForward) {
  const auto costs = segment_costs(small_gpt2(true), 32);
  EXPECT_EQ(costs[1], 64.0 * 3 * 64 + 64 * 64 + 2 * 64 * 192 + 2 * 64 * 32);
}

TEST(HuggingFaceConfig, OfGpt2HoldsTheNumbersUnderThePublishedKeys) {
  const auto j = nlohmann::json::parse(hugging_face_config(small_gpt2(true)));
  EXPECT_EQ(j["architectures"], nlohmann::json({"GPT2LMHeadModel"}));
  EXPECT_EQ(j["model_type"], "gpt2");
  EXPECT_EQ(j["activation_function"], "gelu_new");
  EXPECT_EQ(j["n_embd"], 64);
  EXPECT_EQ(j["n_layer"], 2);
  EXPECT_EQ(j["n_head"], 4);
  EXPECT_EQ(j["n_inner"], 192);
  EXPECT_EQ(j["n_positions"], 40);
  EXPECT_EQ(j["n_ctx"], 40);
  EXPECT_EQ(j["vocab_size"], 259);
  EXPECT_EQ(j["tie_word_embeddings"], true);
  EXPECT_EQ(j["layer_norm_epsilon"], 1e-6);
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

TEST(HuggingFaceConfig, OfQwen2LlamaAndMistralNamesTheirClassesAndWhatTheyKnow) {
  const auto published = [](const std::string& architecture) {
    return nlohmann::json::parse(hugging_face_config(small_as(architecture, false)));
  };
  const auto qwen2 = published("qwen2"), llama = published("llama"), mistral = published("mistral");
  EXPECT_EQ(qwen2["architectures"], nlohmann::json({"Qwen2ForCausalLM"}));
  EXPECT_EQ(llama["architectures"], nlohmann::json({"LlamaForCausalLM"}));
  EXPECT_EQ(mistral["architectures"], nlohmann::json({"MistralForCausalLM"}));
  for (const auto& j : {qwen2, llama, mistral}) {
    EXPECT_EQ(j["num_key_value_heads"], 2);
    EXPECT_EQ(j["head_dim"], 24);
    EXPECT_EQ(j["rope_scaling"], nullptr);
    EXPECT_EQ(j["tie_word_embeddings"], false);
  }
  EXPECT_EQ(qwen2["use_sliding_window"], false);
  EXPECT_EQ(llama["attention_bias"], false);
  EXPECT_EQ(llama["mlp_bias"], false);
  EXPECT_TRUE(mistral.contains("sliding_window") && mistral["sliding_window"].is_null());
}

TEST(HuggingFaceConfig, OfEveryFamilyReadsBackAsTheSameModel) {
  const auto printed = [](config::ModelSettings m) {
    config::Settings settings;
    m.preset = config::no_preset;
    settings.model = m;
    return config::to_yaml(settings);
  };
  std::vector<config::ModelSettings> models{small_gpt2(true), small_gpt2(false)};
  for (const char* architecture : {"qwen3", "qwen2", "llama", "mistral"}) {
    for (const char* scaling : {"none", "linear", "llama3"}) {
      models.push_back(small_as(architecture, models.size() % 2 == 0));
      models.back().rope_scaling = scaling;
    }
  }
  for (const char* preset : {"qwen3-8b", "qwen2.5-14b", "llama3.1-8b", "mistral-7b", "gpt2-xl"})
    models.push_back(config::find_preset(preset));
  for (const config::ModelSettings& m : models)
    EXPECT_EQ(printed(config::parse_model_config(hugging_face_config(m), "config.json")), printed(m));
}

TEST(HuggingFaceConfig, WritesScaledFrequenciesAsTheyArePublished) {
  config::ModelSettings m = small_as("llama", true);
  m.rope_scaling = "llama3";
  m.rope_factor = 32;
  EXPECT_EQ(nlohmann::json::parse(hugging_face_config(m))["rope_scaling"],
            nlohmann::json({{"factor", 32.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 8192},
                            {"rope_type", "llama3"}}));
  m.rope_scaling = "linear";
  EXPECT_EQ(nlohmann::json::parse(hugging_face_config(m))["rope_scaling"],
            nlohmann::json({{"factor", 32.0}, {"rope_type", "linear"}}));
}

}  // namespace
}  // namespace troika::model
