// Qwen3, Qwen2, Llama, Mistral, SmolLM3, Granite and Gemma 3: grouped-query attention with rotary positions, a gated feed-forward,
// RMSNorm. Qwen3 and Gemma norm every query and key head, Qwen2 adds a bias to queries, keys and values, SmolLM3 leaves positions out of
// some layers, Granite scales what is added, Gemma norms what is added to the stream as well and its gains are 1 + weight.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/huggingface/hugging_face_config.h"
#include "shape/architecture.h"
#include "shape/layout_builder.h"

namespace troika::shape {
namespace {

// How a parameter of a block is split over tp ranks: norms not at all, the others by rows or columns of these.
enum class Cut { norm, head_norm, query_rows, key_rows, query_columns, ffn_rows, ffn_columns };

struct Part {
  ParameterInfo info;
  Cut cut;
};

ParameterInfo norm_gain(const config::ModelSettings& m, const std::string& name, std::int64_t width) {
  ParameterInfo info = gain(name, width);
  if (architecture_of(m).norm == Architecture::NormKind::one_plus_rms) info.init = ParameterInfo::Init::zeros;
  return info;
}

// In the buffer's order.
std::vector<Part> block_parts(const config::ModelSettings& m, int layer) {
  const BlockKind kind = block_kind(m, layer + 1);
  const bool around = kind.norms == BlockKind::Norms::around;
  const std::string block = fmt::format("model.layers.{}.", layer), at = block + "self_attn.", mlp = block + "mlp.";
  const std::int64_t D = m.hidden, NH = m.heads * m.head_dim, KH = m.kv_heads * m.head_dim, F = m.ffn;
  std::vector<Part> parts;
  if (kind.attends()) {
    parts = {{norm_gain(m, block + "input_layernorm.weight", D), Cut::norm},
             {matrix(at + "q_proj.weight", NH, D), Cut::query_rows},
             {matrix(at + "k_proj.weight", KH, D), Cut::key_rows},
             {matrix(at + "v_proj.weight", KH, D), Cut::key_rows}};
    if (architecture_of(m).bias == Architecture::Bias::queries_keys_values) {
      parts.push_back({bias(at + "q_proj.bias", NH), Cut::query_rows});
      parts.push_back({bias(at + "k_proj.bias", KH), Cut::key_rows});
      parts.push_back({bias(at + "v_proj.bias", KH), Cut::key_rows});
    }
    if (kind.norms_heads()) {
      parts.push_back({norm_gain(m, at + "q_norm.weight", m.head_dim), Cut::head_norm});
      parts.push_back({norm_gain(m, at + "k_norm.weight", m.head_dim), Cut::head_norm});
    }
    parts.push_back({matrix(at + "o_proj.weight", D, NH), Cut::query_columns});
    if (around) parts.push_back({norm_gain(m, block + "post_attention_layernorm.weight", D), Cut::norm});
  }
  parts.push_back({norm_gain(m, block + (around ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight"), D), Cut::norm});
  parts.push_back({matrix(mlp + "gate_proj.weight", F, D), Cut::ffn_rows});
  parts.push_back({matrix(mlp + "up_proj.weight", F, D), Cut::ffn_rows});
  parts.push_back({matrix(mlp + "down_proj.weight", D, F), Cut::ffn_columns});
  if (around) parts.push_back({norm_gain(m, block + "post_feedforward_layernorm.weight", D), Cut::norm});
  return parts;
}

std::vector<ParameterInfo> llama_parameters(const config::ModelSettings& m, int segment) {
  if (segment == 0) return {token_table("model.embed_tokens.weight", m)};
  std::vector<ParameterInfo> infos;
  if (segment <= m.layers) {
    for (Part& part : block_parts(m, segment - 1)) infos.push_back(std::move(part.info));
    return infos;
  }
  infos.push_back(norm_gain(m, "model.norm.weight", m.hidden));
  if (!m.tie_embeddings) infos.push_back(matrix("lm_head.weight", m.vocab, m.hidden));
  return infos;
}

void split_part(LayoutBuilder& builder, const config::ModelSettings& m, const Part& part) {
  const LocalWidths& widths = builder.widths();
  switch (part.cut) {
    case Cut::norm:
      return builder.everywhere(part.info, Found::of_own_rows);
    case Cut::head_norm:
      return builder.everywhere(part.info, Found::of_own_heads);
    case Cut::query_rows:
      return builder.rows(part.info, widths.heads, m.head_dim);
    case Cut::key_rows:
      return builder.key_rows(part.info);
    case Cut::query_columns:
      return builder.columns(part.info, widths.heads, m.head_dim);
    case Cut::ffn_rows:
      return builder.rows(part.info, widths.ffn);
    case Cut::ffn_columns:
      return builder.columns(part.info, widths.ffn);
  }
}

// One product computes the gradients of both.
bool are_fused(Cut a, Cut b) {
  const auto is_qkv = [](Cut cut) { return cut == Cut::query_rows || cut == Cut::key_rows; };
  return a == b || (is_qkv(a) && is_qkv(b));
}

void split_llama(LayoutBuilder& builder, const config::ModelSettings& m, int segment) {
  if (segment == 0 || segment > m.layers) return builder.norm_and_tables(llama_parameters(m, segment));
  const std::vector<Part> parts = block_parts(m, segment - 1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && !are_fused(parts[i - 1].cut, parts[i].cut)) builder.end_piece();
    split_part(builder, m, parts[i]);
  }
}

nlohmann::ordered_json rope_scaling_of(const config::ModelSettings& m) {
  if (m.rope_scaling == config::RopeScaling::none) return nullptr;
  nlohmann::ordered_json j{{"factor", m.rope_factor}};
  if (m.rope_scaling == config::RopeScaling::llama3) {
    j["high_freq_factor"] = m.rope_high_freq_factor;
    j["low_freq_factor"] = m.rope_low_freq_factor;
    j["original_max_position_embeddings"] = m.rope_original_positions;
  }
  if (m.rope_scaling == config::RopeScaling::yarn) {
    if (m.rope_attention_factor > 0) j["attention_factor"] = m.rope_attention_factor;
    j["beta_fast"] = m.rope_beta_fast;
    j["beta_slow"] = m.rope_beta_slow;
    j["original_max_position_embeddings"] = m.rope_original_positions;
  }
  j["rope_type"] = word_of(m.rope_scaling);
  return j;
}

// 1 / (x x), whole where it is nearly so: the number that x was made of.
nlohmann::ordered_json inverse_square(double x) {
  const double found = 1 / (x * x), whole = std::round(found);
  return std::abs(found - whole) < 1e-9 * found ? nlohmann::ordered_json(static_cast<std::int64_t>(whole)) : nlohmann::ordered_json(found);
}

// The names of layer types in config.json.
nlohmann::ordered_json layer_types_of(const config::ModelSettings& m) {
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (std::int64_t layer = 0; layer < m.layers; ++layer)
    types.push_back(m.layer_type(layer) == config::LayerType::window ? "sliding_attention" : "full_attention");
  return types;
}

// Keys that only some of the family's classes know; absent, they would take the published models' values.
void add_own_keys(const config::ModelSettings& m, nlohmann::ordered_json& j) {
  using config::Family;
  const Family family = m.architecture;
  const bool qwen = family == Family::qwen3 || family == Family::qwen2;
  const nlohmann::ordered_json window = m.sliding_window > 0 ? nlohmann::ordered_json(m.sliding_window) : nullptr;
  if (family != Family::qwen2 && family != Family::mistral) j["attention_bias"] = false;
  if (family == Family::llama || family == Family::granite || family == Family::smollm3) j["mlp_bias"] = false;
  if (family == Family::llama) j["pretraining_tp"] = 1;
  if (family == Family::gemma3_text || family == Family::smollm3) j["pad_token_id"] = nullptr;
  if (qwen || family == Family::mistral || family == Family::gemma3_text || family == Family::smollm3) j["sliding_window"] = window;
  if (qwen || family == Family::smollm3) j["use_sliding_window"] = m.sliding_window > 0;
  if ((qwen && m.sliding_window > 0) || family == Family::gemma3_text || family == Family::smollm3) j["layer_types"] = layer_types_of(m);
  if (family == Family::smollm3) {
    j["no_rope_layers"] = nlohmann::ordered_json::array();
    for (std::int64_t layer = 0; layer < m.layers; ++layer)
      j["no_rope_layers"].push_back(m.layer_type(layer) == config::LayerType::no_rotation ? 0 : 1);
  }
  if (family == Family::granite) {
    j["attention_multiplier"] = m.attention_scale > 0 ? m.attention_scale : 1 / std::sqrt(static_cast<double>(m.head_dim));
    j["embedding_multiplier"] = m.embedding_scale;
    j["logits_scaling"] = m.logits_divisor;
    j["residual_multiplier"] = m.residual_scale;
  }
  if (family == Family::gemma3_text) {
    j["attn_logit_softcapping"] = nullptr;
    j["final_logit_softcapping"] = nullptr;
    j["query_pre_attn_scalar"] = m.attention_scale > 0 ? inverse_square(m.attention_scale) : nlohmann::ordered_json(m.head_dim);
    j["rope_local_base_freq"] = m.rope_local_theta > 0 ? m.rope_local_theta : m.rope_theta;
  }
}

std::string llama_config(const config::ModelSettings& m) {
  nlohmann::ordered_json j;
  j["architectures"] = {config::hugging_face_class(m.architecture)};
  j["model_type"] = word_of(m.architecture);
  j["attention_dropout"] = 0.0;
  j["bos_token_id"] = nullptr;  // the tokenizer's; what is left out would be the published model's
  j["eos_token_id"] = nullptr;
  if (m.architecture == config::Family::gemma3_text) j["hidden_activation"] = "gelu_pytorch_tanh";
  else j["hidden_act"] = "silu";
  j["hidden_size"] = m.hidden;
  j["initializer_range"] = m.init_std;
  j["intermediate_size"] = m.ffn;
  j["max_position_embeddings"] = m.max_positions;
  j["num_attention_heads"] = m.heads;
  j["num_hidden_layers"] = m.layers;
  j["num_key_value_heads"] = m.kv_heads;
  j["head_dim"] = m.head_dim;
  j["rms_norm_eps"] = m.norm_eps;
  j["rope_scaling"] = rope_scaling_of(m);
  j["rope_theta"] = m.rope_theta;
  j["tie_word_embeddings"] = m.tie_embeddings;
  j["torch_dtype"] = "float32";
  j["use_cache"] = true;
  j["vocab_size"] = m.vocab;
  add_own_keys(m, j);
  return j.dump(2) + "\n";
}

BlockKind::Attention attention_of(config::LayerType type) {
  return type == config::LayerType::window ? BlockKind::Attention::window : BlockKind::Attention::full;
}

BlockKind turned_heads(const config::ModelSettings& model, int layer) {
  const config::LayerType type = model.layer_type(layer);
  const auto rotation = type == config::LayerType::no_rotation ? BlockKind::Rotation::none : BlockKind::Rotation::rotary;
  return {attention_of(type), rotation};
}

BlockKind normed_heads(const config::ModelSettings& model, int layer) {
  return {attention_of(model.layer_type(layer)), BlockKind::Rotation::normed_rotary};
}

BlockKind gemma_block(const config::ModelSettings& model, int layer) {
  BlockKind kind = normed_heads(model, layer);
  kind.feed_forward = BlockKind::FeedForward::geglu;
  kind.norms = BlockKind::Norms::around;
  if (kind.attention == BlockKind::Attention::window && model.rope_local_theta > 0) kind.table = BlockKind::Table::local;
  return kind;
}

constexpr Architecture member(BlockKind (*block)(const config::ModelSettings&, int), Architecture::Bias bias,
                              Architecture::NormKind norm = Architecture::NormKind::rms) {
  return {norm,
          Architecture::Positions::rotary,
          Architecture::WeightOrder::out_in,
          bias,
          block,
          llama_parameters,
          split_llama,
          llama_config};
}

}  // namespace

const Architecture qwen3 = member(normed_heads, Architecture::Bias::none);
const Architecture qwen2 = member(turned_heads, Architecture::Bias::queries_keys_values);
const Architecture llama = member(turned_heads, Architecture::Bias::none);
const Architecture mistral = member(turned_heads, Architecture::Bias::none);
const Architecture smollm3 = member(turned_heads, Architecture::Bias::none);
const Architecture granite = member(turned_heads, Architecture::Bias::none);
const Architecture gemma3_text = member(gemma_block, Architecture::Bias::none, Architecture::NormKind::one_plus_rms);

}  // namespace troika::shape
