// Qwen3: grouped-query attention with per-head QK norm and rotary positions, SwiGLU, RMSNorm, no biases.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/architecture.h"
#include "model/layout_builder.h"

namespace troika::model {
namespace {

using sharding::part_of;
using sharding::Range;

std::vector<ParameterInfo> block_parameters(const config::ModelSettings& m, int layer) {
  const std::string at = fmt::format("model.layers.{}.", layer);
  const std::int64_t D = m.hidden, NH = m.heads * m.head_dim, KH = m.kv_heads * m.head_dim, F = m.ffn;
  return {gain(at + "input_layernorm.weight", D),           matrix(at + "self_attn.q_proj.weight", NH, D),
          matrix(at + "self_attn.k_proj.weight", KH, D),    matrix(at + "self_attn.v_proj.weight", KH, D),
          gain(at + "self_attn.q_norm.weight", m.head_dim), gain(at + "self_attn.k_norm.weight", m.head_dim),
          matrix(at + "self_attn.o_proj.weight", D, NH),    gain(at + "post_attention_layernorm.weight", D),
          matrix(at + "mlp.gate_proj.weight", F, D),        matrix(at + "mlp.up_proj.weight", F, D),
          matrix(at + "mlp.down_proj.weight", D, F)};
}

std::vector<ParameterInfo> parameters(const config::ModelSettings& m, int segment) {
  if (segment == 0) return {token_table("model.embed_tokens.weight", m)};
  if (segment <= m.layers) return block_parameters(m, segment - 1);
  std::vector<ParameterInfo> head{gain("model.norm.weight", m.hidden)};
  if (!m.tie_embeddings) head.push_back(matrix("lm_head.weight", m.vocab, m.hidden));
  return head;
}

int holder_of_head(const config::ModelSettings& model, std::int64_t head, int size) {
  int rank = 0;
  while (part_of(model.heads, rank, size).end() <= head) ++rank;
  return rank;
}

// The tp ranks whose query heads read key/value head `head`: [first, end).
std::pair<int, int> holders(const config::ModelSettings& model, std::int64_t head, int size) {
  const std::int64_t group = model.heads / model.kv_heads;
  return {holder_of_head(model, head * group, size), holder_of_head(model, head * group + group - 1, size) + 1};
}

// The rank's key/value heads, one slot for each run of them with the same holders.
void add_kv_rows(LayoutBuilder& builder, const config::ModelSettings& model, const ParameterInfo& info) {
  const Range kv_heads = builder.widths().kv_heads;
  const int size = builder.share().size;
  for (std::int64_t begin = kv_heads.begin; begin < kv_heads.end();) {
    const auto mine = holders(model, begin, size);
    std::int64_t end = begin + 1;
    while (end < kv_heads.end() && holders(model, end, size) == mine) ++end;
    builder.rows_of_heads(info, {begin, end - begin}, model.head_dim, mine.first, mine.second);
    begin = end;
  }
}

void split_block(LayoutBuilder& builder, const config::ModelSettings& m, const std::vector<ParameterInfo>& infos) {
  const LocalWidths& widths = builder.widths();
  enum { norm1, q, k, v, q_norm, k_norm, o, norm2, gate, up, down };  // as block_parameters lists them
  builder.everywhere(infos[norm1], Found::of_own_rows);
  builder.rows(infos[q], widths.heads, m.head_dim);
  add_kv_rows(builder, m, infos[k]);
  add_kv_rows(builder, m, infos[v]);
  builder.everywhere(infos[q_norm], Found::of_own_heads);
  builder.everywhere(infos[k_norm], Found::of_own_heads);
  builder.columns(infos[o], widths.heads, m.head_dim);
  builder.everywhere(infos[norm2], Found::of_own_rows);
  builder.rows(infos[gate], widths.ffn);
  builder.rows(infos[up], widths.ffn);
  builder.columns(infos[down], widths.ffn);
}

void split(LayoutBuilder& builder, const config::ModelSettings& m, int segment) {
  const std::vector<ParameterInfo> infos = parameters(m, segment);
  if (segment > 0 && segment <= m.layers) return split_block(builder, m, infos);
  builder.norm_and_tables(infos);
}

std::string published_config(const config::ModelSettings& m) {
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

}  // namespace

const Architecture qwen3{Architecture::NormKind::rms,
                         Architecture::Positions::rotary,
                         Architecture::Activation::swiglu,
                         Architecture::WeightOrder::out_in,
                         Architecture::Bias::none,
                         parameters,
                         split,
                         published_config};

}  // namespace troika::model
