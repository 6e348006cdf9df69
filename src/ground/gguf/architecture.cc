#include "gguf/architecture.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::gguf {
namespace {

using Names = std::vector<std::pair<const char*, const char*>>;

const Names llama_outer = {{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
const Names gpt2_outer = {{"token_embd", "transformer.wte"},
                          {"position_embd", "transformer.wpe"},
                          {"output_norm", "transformer.ln_f"},
                          {"output", "lm_head"}};

Names with(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

const Names attention_names = {{"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"},
                               {"attn_v", "self_attn.v_proj"},      {"attn_output", "self_attn.o_proj"},
                               {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"}};
const Names feed_forward_names = {
    {"ffn_gate", "mlp.gate_proj"}, {"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"}};
const Names two_norms = {{"attn_norm", "input_layernorm"}, {"ffn_norm", "post_attention_layernorm"}};
const Names norms_behind = {{"post_attention_norm", "post_attention_layernorm"},
                            {"post_ffw_norm", "post_feedforward_layernorm"}};

const Names llama_block = with(with(attention_names, feed_forward_names), two_norms);
const Names gemma_block = with(with(with(attention_names, feed_forward_names), norms_behind),
                               {{"attn_norm", "input_layernorm"}, {"ffn_norm", "pre_feedforward_layernorm"}});
const Names olmo2_block = with(with(attention_names, feed_forward_names), norms_behind);
const Names phi3_block = with({{"attn_qkv", "self_attn.qkv_proj"},
                               {"attn_output", "self_attn.o_proj"},
                               {"ffn_up", "mlp.gate_up_proj"},
                               {"ffn_down", "mlp.down_proj"}},
                              two_norms);
const Names gpt2_block = {{"attn_norm", "ln_1"}, {"attn_qkv", "attn.c_attn"}, {"attn_output", "attn.c_proj"},
                          {"ffn_norm", "ln_2"},  {"ffn_up", "mlp.c_fc"},      {"ffn_down", "mlp.c_proj"}};

constexpr const char* llama_layers = "model.layers.";

// Mistral's files are of the architecture llama.
const std::vector<Architecture> architectures = {
    {"llama", "llama", "LlamaForCausalLM", llama_outer, llama_block, llama_layers, true, false, false},
    {"llama", "mistral", "MistralForCausalLM", llama_outer, llama_block, llama_layers, true, false, false},
    {"qwen2", "qwen2", "Qwen2ForCausalLM", llama_outer, llama_block, llama_layers, false, false, false},
    {"qwen3", "qwen3", "Qwen3ForCausalLM", llama_outer, llama_block, llama_layers, false, false, false},
    {"gpt2", "gpt2", "GPT2LMHeadModel", gpt2_outer, gpt2_block, "transformer.h.", false, false, true},
    {"gemma", "gemma", "GemmaForCausalLM", llama_outer, llama_block, llama_layers, false, true, false},
    {"gemma2", "gemma2", "Gemma2ForCausalLM", llama_outer, gemma_block, llama_layers, false, true, false},
    {"gemma3", "gemma3_text", "Gemma3ForCausalLM", llama_outer, gemma_block, llama_layers, false, true, false},
    {"phi3", "phi3", "Phi3ForCausalLM", llama_outer, phi3_block, llama_layers, false, false, false},
    {"olmo2", "olmo2", "Olmo2ForCausalLM", llama_outer, olmo2_block, llama_layers, false, false, false},
    {"granite", "granite", "GraniteForCausalLM", llama_outer, llama_block, llama_layers, true, false, false},
    {"smollm3", "smollm3", "SmolLM3ForCausalLM", llama_outer, llama_block, llama_layers, true, false, false}};

// The first part with each name in `from` replaced, and the rest: "weight", "bias".
template <class Named>
std::string renamed(const std::string& name, const Named& named) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return "";
  const std::string other = named(name.substr(0, dot));
  return other.empty() ? "" : other + name.substr(dot);
}

std::string other_name(const Names& names, const std::string& name, bool from_gguf) {
  for (const auto& [ours, theirs] : names)
    if (name == (from_gguf ? ours : theirs)) return from_gguf ? theirs : ours;
  return "";
}

// "3." behind `prefix` and what follows; empty where it is not so.
std::pair<std::string, std::string> layer_and_rest(const std::string& name, const std::string& prefix) {
  if (name.rfind(prefix, 0) != 0) return {};
  std::size_t end = prefix.size();
  while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
  if (end == prefix.size() || end == name.size() || name[end] != '.') return {};
  return {name.substr(prefix.size(), end + 1 - prefix.size()), name.substr(end + 1)};
}

constexpr const char* gguf_block = "blk.";

std::string translated(const Architecture& a, const std::string& name, bool from_gguf) {
  return renamed(name, [&](const std::string& stem) {
    const std::string outer = other_name(a.outer, stem, from_gguf);
    if (!outer.empty()) return outer;
    const auto [layer, rest] = layer_and_rest(stem, from_gguf ? gguf_block : a.block_prefix);
    const std::string inner = other_name(a.block, rest, from_gguf);
    return layer.empty() || inner.empty() ? "" : (from_gguf ? a.block_prefix : gguf_block) + layer + inner;
  });
}

}  // namespace

const Architecture* find_architecture(const std::string& name) {
  const auto found = std::find_if(architectures.begin(), architectures.end(),
                                  [&](const Architecture& one) { return name == one.name; });
  return found == architectures.end() ? nullptr : &*found;
}

const Architecture* architecture_of_model_type(const std::string& model_type) {
  const auto found = std::find_if(architectures.begin(), architectures.end(),
                                  [&](const Architecture& one) { return model_type == one.model_type; });
  return found == architectures.end() ? nullptr : &*found;
}

std::string names_of_architectures() {
  std::vector<std::string> names;
  for (const Architecture& one : architectures)
    if (names.empty() || names.back() != one.name) names.push_back(one.name);
  return base::join(names, ", ");
}

const Architecture& architecture_of(const Header& header) {
  const std::string name = header.text("general.architecture");
  if (const Architecture* found = find_architecture(name)) return *found;
  throw base::DataError(base::say("'{}' is of the architecture '{}', which is not read; these are: {}", header.origin(),
                                  base::printable(name, 200), names_of_architectures()));
}

std::string published_name(const Architecture& architecture, const std::string& name) {
  return translated(architecture, name, true);
}
std::string gguf_name(const Architecture& architecture, const std::string& published) {
  return translated(architecture, published, false);
}

Arrangement arrangement_of(const Architecture& a, const std::string& name, std::int64_t head_rows) {
  Arrangement arrangement;
  const std::string stem = name.substr(name.rfind('.', name.rfind('.') - 1) + 1);  // "attn_q.weight"
  const bool of_block = name.rfind(gguf_block, 0) == 0;
  if (a.has_pairs && of_block && (stem.rfind("attn_q.", 0) == 0 || stem.rfind("attn_k.", 0) == 0))
    arrangement = {Order::pairs, head_rows, 0};
  const bool is_norm = stem.find("norm.") != std::string::npos;
  if (a.is_transposed && of_block && !is_norm && base::ends_with(stem, ".weight"))
    arrangement.order = Order::transposed;
  if (a.has_added_norms && is_norm) arrangement.added = 1;
  return arrangement;
}

std::int64_t head_rows_of(const Header& header) {
  const std::string name = header.text("general.architecture");
  const std::int64_t heads = std::max<std::int64_t>(1, header.whole(name + ".attention.head_count", 1));
  return header.whole(name + ".attention.key_length", header.whole(name + ".embedding_length", 0) / heads);
}

std::vector<PublishedTensor> published_tensors(const Header& header) {
  const Architecture& architecture = architecture_of(header);
  const std::int64_t head_rows = head_rows_of(header);
  std::vector<PublishedTensor> published;
  for (const Tensor& tensor : header.tensors()) {
    if (tensor.name.rfind("rope_f", 0) == 0) continue;  // rope_freqs, rope_factors_long, rope_factors_short
    const std::string name = published_name(architecture, tensor.name);
    PublishedTensor one{name.empty() ? tensor.name : name, tensor.shape, &tensor,
                        arrangement_of(architecture, tensor.name, head_rows)};
    const Order order = one.arrangement.order;
    if (order == Order::pairs && (head_rows < 2 || head_rows % 2 != 0 || tensor.shape.front() % head_rows != 0))
      throw base::DataError(base::say("'{}' is damaged: tensor '{}' has {} rows, which are no heads of {}",
                                      header.origin(), tensor.name, tensor.shape.front(), head_rows));
    if (order == Order::transposed) std::reverse(one.shape.begin(), one.shape.end());
    if (order == Order::transposed && tensor.shape.size() != 2) one.arrangement.order = Order::same;
    published.push_back(std::move(one));
  }
  return published;
}

}  // namespace troika::gguf
