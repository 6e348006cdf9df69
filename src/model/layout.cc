#include "model/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace troika::model {

const char* const embedding_name = "model.embed_tokens.weight";

std::int64_t ParameterInfo::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

int segment_count(const config::ModelSettings& model) { return static_cast<int>(model.layers) + 2; }

static ParameterInfo matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return {name, {rows, columns}, ParameterInfo::Init::normal, true};
}

static ParameterInfo norm(const std::string& name, std::int64_t width) {
  return {name, {width}, ParameterInfo::Init::ones, false};
}

static std::vector<ParameterInfo> block_parameters(const config::ModelSettings& m, int layer) {
  const std::string at = fmt::format("model.layers.{}.", layer);
  const std::int64_t D = m.hidden, NH = m.heads * m.head_dim, KH = m.kv_heads * m.head_dim, F = m.ffn;
  return {norm(at + "input_layernorm.weight", D),           matrix(at + "self_attn.q_proj.weight", NH, D),
          matrix(at + "self_attn.k_proj.weight", KH, D),    matrix(at + "self_attn.v_proj.weight", KH, D),
          norm(at + "self_attn.q_norm.weight", m.head_dim), norm(at + "self_attn.k_norm.weight", m.head_dim),
          matrix(at + "self_attn.o_proj.weight", D, NH),    norm(at + "post_attention_layernorm.weight", D),
          matrix(at + "mlp.gate_proj.weight", F, D),        matrix(at + "mlp.up_proj.weight", F, D),
          matrix(at + "mlp.down_proj.weight", D, F)};
}

std::vector<ParameterInfo> segment_parameters(const config::ModelSettings& model, int segment) {
  if (segment == 0) return {matrix(embedding_name, model.vocab, model.hidden)};
  if (segment <= model.layers) return block_parameters(model, segment - 1);
  std::vector<ParameterInfo> head{norm("model.norm.weight", model.hidden)};
  if (!model.tie_embeddings) head.push_back(matrix("lm_head.weight", model.vocab, model.hidden));
  return head;
}

std::vector<ParameterInfo> all_parameters(const config::ModelSettings& model) {
  std::vector<ParameterInfo> all;
  for (int segment = 0; segment < segment_count(model); ++segment) {
    for (auto& info : segment_parameters(model, segment)) all.push_back(std::move(info));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

std::int64_t parameter_count(const config::ModelSettings& model) {
  std::int64_t count = 0;
  for (const auto& info : all_parameters(model)) count += info.elements();
  return count;
}

std::string hugging_face_config(const config::ModelSettings& m) {
  nlohmann::ordered_json j;
  j["architectures"] = {"Qwen3ForCausalLM"};
  j["model_type"] = "qwen3";
  j["attention_bias"] = false;
  j["attention_dropout"] = 0.0;
  j["hidden_act"] = "silu";
  j["hidden_size"] = m.hidden;
  j["initializer_range"] = m.init_std;
  j["intermediate_size"] = m.ffn;
  j["max_position_embeddings"] = m.max_positions;
  j["num_attention_heads"] = m.heads;
  j["num_hidden_layers"] = m.layers;
  j["num_key_value_heads"] = m.kv_heads;
  j["head_dim"] = m.head_dim;
  j["rms_norm_eps"] = m.norm_eps;
  j["rope_scaling"] = nullptr;
  j["rope_theta"] = m.rope_theta;
  j["sliding_window"] = nullptr;
  j["tie_word_embeddings"] = m.tie_embeddings;
  j["torch_dtype"] = "float32";
  j["use_cache"] = true;
  j["use_sliding_window"] = false;
  j["vocab_size"] = m.vocab;
  return j.dump(2) + "\n";
}

}  // namespace troika::model
