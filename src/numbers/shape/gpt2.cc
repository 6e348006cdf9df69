// GPT-2: as many key/value heads as query heads, learned positions, GELU, LayerNorm, biases everywhere. Weights of projections are
// stored as [inputs, outputs], q, k and v side by side in one of them.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/huggingface/hugging_face_config.h"
#include "shape/architecture.h"
#include "shape/layout_builder.h"

namespace troika::shape {
namespace {

double residual_scale(const config::ModelSettings& m) {
  return 1 / std::sqrt(2 * static_cast<double>(m.layers));  // the stream adds up two of these per layer
}

std::vector<ParameterInfo> attention_parameters(const config::ModelSettings& m, const std::string& at) {
  const std::int64_t D = m.hidden, NH = m.heads * m.head_dim;
  return {gain(at + "ln_1.weight", D),
          bias(at + "ln_1.bias", D),
          matrix(at + "attn.c_attn.weight", D, 3 * NH),
          bias(at + "attn.c_attn.bias", 3 * NH),
          matrix(at + "attn.c_proj.weight", NH, D, residual_scale(m)),
          bias(at + "attn.c_proj.bias", D)};
}

std::vector<ParameterInfo> feed_forward_parameters(const config::ModelSettings& m, const std::string& at) {
  const std::int64_t D = m.hidden, F = m.ffn;
  return {gain(at + "ln_2.weight", D),
          bias(at + "ln_2.bias", D),
          matrix(at + "mlp.c_fc.weight", D, F),
          bias(at + "mlp.c_fc.bias", F),
          matrix(at + "mlp.c_proj.weight", F, D, residual_scale(m)),
          bias(at + "mlp.c_proj.bias", D)};
}

std::string block_name(int segment) { return fmt::format("transformer.h.{}.", segment - 1); }

std::vector<ParameterInfo> block_parameters(const config::ModelSettings& m, int segment) {
  std::vector<ParameterInfo> infos;
  if (block_kind(m, segment).attends()) infos = attention_parameters(m, block_name(segment));
  for (ParameterInfo& info : feed_forward_parameters(m, block_name(segment))) infos.push_back(std::move(info));
  return infos;
}

std::vector<ParameterInfo> gpt2_parameters(const config::ModelSettings& m, int segment) {
  if (segment == 0) {
    return {token_table("transformer.wte.weight", m), table("transformer.wpe.weight", m.max_positions, m.hidden)};
  }
  if (segment <= m.layers) return block_parameters(m, segment);
  std::vector<ParameterInfo> head{gain("transformer.ln_f.weight", m.hidden), bias("transformer.ln_f.bias", m.hidden)};
  if (!m.tie_embeddings) head.push_back(matrix("lm_head.weight", m.vocab, m.hidden));
  return head;
}

// The biases of c_proj, like the positions, are added to collected sums, whose gradient every rank has for all rows.
void split_attention(LayoutBuilder& builder, const config::ModelSettings& m, const std::vector<ParameterInfo>& infos) {
  const Range& heads = builder.widths().heads;
  enum { norm, norm_bias, qkv, qkv_bias, o, o_bias };  // as attention_parameters lists them
  builder.everywhere(infos[norm], Found::of_own_rows);
  builder.everywhere(infos[norm_bias], Found::of_own_rows);
  builder.end_piece();
  builder.columns(infos[qkv], heads, m.head_dim, 3);
  builder.columns(infos[qkv_bias], heads, m.head_dim, 3);
  builder.end_piece();
  builder.rows(infos[o], heads, m.head_dim);
  builder.everywhere(infos[o_bias], Found::whole);
  builder.end_piece();
}

void split_feed_forward(LayoutBuilder& builder, const std::vector<ParameterInfo>& infos) {
  const Range& ffn = builder.widths().ffn;
  enum { norm, norm_bias, up, up_bias, down, down_bias };  // as feed_forward_parameters lists them
  builder.everywhere(infos[norm], Found::of_own_rows);
  builder.everywhere(infos[norm_bias], Found::of_own_rows);
  builder.end_piece();
  builder.columns(infos[up], ffn);
  builder.columns(infos[up_bias], ffn);
  builder.end_piece();
  builder.rows(infos[down], ffn);
  builder.everywhere(infos[down_bias], Found::whole);
}

void split_gpt2(LayoutBuilder& builder, const config::ModelSettings& m, int segment) {
  if (segment > 0 && segment <= m.layers) {
    if (block_kind(m, segment).attends()) split_attention(builder, m, attention_parameters(m, block_name(segment)));
    return split_feed_forward(builder, feed_forward_parameters(m, block_name(segment)));
  }
  const std::vector<ParameterInfo> infos = gpt2_parameters(m, segment);
  if (segment == 0) {
    builder.vocabulary(infos[0]);
    builder.everywhere(infos[1], Found::whole);
    return;
  }
  builder.norm_and_tables(infos);
}

BlockKind block_of_gpt2(const config::ModelSettings& /*model*/, int /*layer*/) {
  return {BlockKind::Attention::full, BlockKind::Rotation::none, BlockKind::FeedForward::gelu};
}

std::string gpt2_config(const config::ModelSettings& m) {
  nlohmann::ordered_json j;
  j["architectures"] = {config::hugging_face_class(m.architecture)};
  j["model_type"] = word_of(m.architecture);
  j["activation_function"] = "gelu_new";
  j["attn_pdrop"] = 0.0;
  j["bos_token_id"] = nullptr;  // the tokenizer's; what is left out would be the published model's
  j["embd_pdrop"] = 0.0;
  j["eos_token_id"] = nullptr;
  j["initializer_range"] = m.init_std;
  j["layer_norm_epsilon"] = m.norm_eps;
  j["n_ctx"] = m.max_positions;
  j["n_embd"] = m.hidden;
  j["n_head"] = m.heads;
  j["n_inner"] = m.ffn;
  j["n_layer"] = m.layers;
  j["n_positions"] = m.max_positions;
  j["resid_pdrop"] = 0.0;
  j["scale_attn_weights"] = true;
  j["tie_word_embeddings"] = m.tie_embeddings;
  j["torch_dtype"] = "float32";
  j["use_cache"] = true;
  j["vocab_size"] = m.vocab;
  return j.dump(2) + "\n";
}

}  // namespace

const Architecture gpt2{Architecture::NormKind::layer,
                        Architecture::Positions::learned,
                        Architecture::WeightOrder::in_out,
                        Architecture::Bias::everywhere,
                        block_of_gpt2,
                        gpt2_parameters,
                        split_gpt2,
                        gpt2_config};

}  // namespace troika::shape
