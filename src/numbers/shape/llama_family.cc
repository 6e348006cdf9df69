// Qwen3, Qwen2, Llama and Mistral: grouped-query attention with rotary positions, SwiGLU, RMSNorm. Qwen3 norms every
// query and key head, Qwen2 adds a bias to queries, keys and values.
#include <fmt/format.h>

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

// In the buffer's order.
std::vector<Part> block_parts(const config::ModelSettings& m, int layer) {
  const BlockKind kind = block_kind(m, layer + 1);
  const std::string block = fmt::format("model.layers.{}.", layer), at = block + "self_attn.", mlp = block + "mlp.";
  const std::int64_t D = m.hidden, NH = m.heads * m.head_dim, KH = m.kv_heads * m.head_dim, F = m.ffn;
  std::vector<Part> parts;
  if (kind.attends()) {
    parts = {{gain(block + "input_layernorm.weight", D), Cut::norm},
             {matrix(at + "q_proj.weight", NH, D), Cut::query_rows},
             {matrix(at + "k_proj.weight", KH, D), Cut::key_rows},
             {matrix(at + "v_proj.weight", KH, D), Cut::key_rows}};
    if (architecture_of(m).bias == Architecture::Bias::queries_keys_values) {
      parts.push_back({bias(at + "q_proj.bias", NH), Cut::query_rows});
      parts.push_back({bias(at + "k_proj.bias", KH), Cut::key_rows});
      parts.push_back({bias(at + "v_proj.bias", KH), Cut::key_rows});
    }
    if (kind.norms_heads()) {
      parts.push_back({gain(at + "q_norm.weight", m.head_dim), Cut::head_norm});
      parts.push_back({gain(at + "k_norm.weight", m.head_dim), Cut::head_norm});
    }
    parts.push_back({matrix(at + "o_proj.weight", D, NH), Cut::query_columns});
  }
  parts.push_back({gain(block + "post_attention_layernorm.weight", D), Cut::norm});
  parts.push_back({matrix(mlp + "gate_proj.weight", F, D), Cut::ffn_rows});
  parts.push_back({matrix(mlp + "up_proj.weight", F, D), Cut::ffn_rows});
  parts.push_back({matrix(mlp + "down_proj.weight", D, F), Cut::ffn_columns});
  return parts;
}

std::vector<ParameterInfo> llama_parameters(const config::ModelSettings& m, int segment) {
  if (segment == 0) return {token_table("model.embed_tokens.weight", m)};
  std::vector<ParameterInfo> infos;
  if (segment <= m.layers) {
    for (Part& part : block_parts(m, segment - 1)) infos.push_back(std::move(part.info));
    return infos;
  }
  infos.push_back(gain("model.norm.weight", m.hidden));
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
  j["rope_type"] = word_of(m.rope_scaling);
  return j;
}

// Keys that only some of the family's classes know; absent, they would take the published models' values.
void add_own_keys(const config::ModelSettings& m, nlohmann::ordered_json& j) {
  using config::Family;
  const bool qwen = m.architecture == Family::qwen3 || m.architecture == Family::qwen2;
  if (m.architecture == Family::qwen3 || m.architecture == Family::llama) j["attention_bias"] = false;
  if (m.architecture == Family::llama) {
    j["mlp_bias"] = false;
    j["pretraining_tp"] = 1;
  } else {
    j["sliding_window"] = nullptr;
  }
  if (qwen) j["use_sliding_window"] = false;
}

std::string llama_config(const config::ModelSettings& m) {
  nlohmann::ordered_json j;
  j["architectures"] = {config::hugging_face_class(m.architecture)};
  j["model_type"] = word_of(m.architecture);
  j["attention_dropout"] = 0.0;
  j["bos_token_id"] = nullptr;  // the tokenizer's; what is left out would be the published model's
  j["eos_token_id"] = nullptr;
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
  j["rope_scaling"] = rope_scaling_of(m);
  j["rope_theta"] = m.rope_theta;
  j["tie_word_embeddings"] = m.tie_embeddings;
  j["torch_dtype"] = "float32";
  j["use_cache"] = true;
  j["vocab_size"] = m.vocab;
  add_own_keys(m, j);
  return j.dump(2) + "\n";
}

BlockKind turned_heads(const config::ModelSettings& /*model*/, int /*layer*/) {
  return {BlockKind::Attention::full, BlockKind::Rotation::rotary, BlockKind::FeedForward::swiglu};
}

BlockKind normed_heads(const config::ModelSettings& /*model*/, int /*layer*/) {
  return {BlockKind::Attention::full, BlockKind::Rotation::normed_rotary, BlockKind::FeedForward::swiglu};
}

constexpr Architecture member(BlockKind (*block)(const config::ModelSettings&, int), Architecture::Bias bias) {
  return {Architecture::NormKind::rms,
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

}  // namespace troika::shape
