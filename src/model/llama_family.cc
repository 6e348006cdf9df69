// Qwen3, Qwen2, Llama and Mistral: grouped-query attention with rotary positions, SwiGLU, RMSNorm. Qwen3 norms every
// query and key head, Qwen2 adds a bias to queries, keys and values.
#include "model/llama_family.h"

#include <fmt/format.h>

#include "model/architecture.h"
#include "model/layout_builder.h"

namespace troika::model {
namespace {

// How a parameter of a block is split over tp ranks: norms not at all, the others by rows or columns of these.
enum class Cut { norm, head_norm, query_rows, key_rows, query_columns, ffn_rows, ffn_columns };

struct Part {
  ParameterInfo info;
  Cut cut;
};

// In the buffer's order.
std::vector<Part> block_parts(const config::ModelSettings& m, int layer) {
  const Architecture& architecture = architecture_of(m);
  const std::string block = fmt::format("model.layers.{}.", layer), at = block + "self_attn.", mlp = block + "mlp.";
  const std::int64_t D = m.hidden, NH = m.heads * m.head_dim, KH = m.kv_heads * m.head_dim, F = m.ffn;
  std::vector<Part> parts{{gain(block + "input_layernorm.weight", D), Cut::norm},
                          {matrix(at + "q_proj.weight", NH, D), Cut::query_rows},
                          {matrix(at + "k_proj.weight", KH, D), Cut::key_rows},
                          {matrix(at + "v_proj.weight", KH, D), Cut::key_rows}};
  if (architecture.bias == Architecture::Bias::queries_keys_values) {
    parts.push_back({bias(at + "q_proj.bias", NH), Cut::query_rows});
    parts.push_back({bias(at + "k_proj.bias", KH), Cut::key_rows});
    parts.push_back({bias(at + "v_proj.bias", KH), Cut::key_rows});
  }
  if (architecture.positions == Architecture::Positions::normed_rotary) {
    parts.push_back({gain(at + "q_norm.weight", m.head_dim), Cut::head_norm});
    parts.push_back({gain(at + "k_norm.weight", m.head_dim), Cut::head_norm});
  }
  parts.push_back({matrix(at + "o_proj.weight", D, NH), Cut::query_columns});
  parts.push_back({gain(block + "post_attention_layernorm.weight", D), Cut::norm});
  parts.push_back({matrix(mlp + "gate_proj.weight", F, D), Cut::ffn_rows});
  parts.push_back({matrix(mlp + "up_proj.weight", F, D), Cut::ffn_rows});
  parts.push_back({matrix(mlp + "down_proj.weight", D, F), Cut::ffn_columns});
  return parts;
}

std::vector<ParameterInfo> parameters(const config::ModelSettings& m, int segment) {
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

void split(LayoutBuilder& builder, const config::ModelSettings& m, int segment) {
  if (segment == 0 || segment > m.layers) return builder.norm_and_tables(parameters(m, segment));
  for (const Part& part : block_parts(m, segment - 1)) split_part(builder, m, part);
}

constexpr Architecture member(Architecture::Positions positions, Architecture::Bias bias) {
  return {Architecture::NormKind::rms,
          positions,
          Architecture::Activation::swiglu,
          Architecture::WeightOrder::out_in,
          bias,
          parameters,
          split,
          llama_family_config};
}

}  // namespace

const Architecture qwen3 = member(Architecture::Positions::normed_rotary, Architecture::Bias::none);
const Architecture qwen2 = member(Architecture::Positions::rotary, Architecture::Bias::queries_keys_values);
const Architecture llama = member(Architecture::Positions::rotary, Architecture::Bias::none);
const Architecture mistral = member(Architecture::Positions::rotary, Architecture::Bias::none);

}  // namespace troika::model
