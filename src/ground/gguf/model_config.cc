#include "gguf/model_config.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"

namespace troika::gguf {
namespace {

using nlohmann::ordered_json;

// A key of config.json, and what follows the architecture in the GGUF key.
struct Row {
  enum class Kind { whole, number };
  const char *published, *gguf;
  Kind kind;
};
using Rows = std::vector<Row>;
constexpr Row::Kind whole_kind = Row::Kind::whole, number_kind = Row::Kind::number;

const Rows llama_rows = {{"max_position_embeddings", "context_length", whole_kind},
                         {"hidden_size", "embedding_length", whole_kind},
                         {"num_hidden_layers", "block_count", whole_kind},
                         {"intermediate_size", "feed_forward_length", whole_kind},
                         {"num_attention_heads", "attention.head_count", whole_kind},
                         {"num_key_value_heads", "attention.head_count_kv", whole_kind},
                         {"rms_norm_eps", "attention.layer_norm_rms_epsilon", number_kind},
                         {"rope_theta", "rope.freq_base", number_kind}};
const Rows gpt2_rows = {{"n_positions", "context_length", whole_kind},
                        {"n_embd", "embedding_length", whole_kind},
                        {"n_layer", "block_count", whole_kind},
                        {"n_inner", "feed_forward_length", whole_kind},
                        {"n_head", "attention.head_count", whole_kind},
                        {"layer_norm_epsilon", "attention.layer_norm_epsilon", number_kind}};
// Of some families; what a file does not state is not in config.json.
const Rows optional_rows = {{"sliding_window", "attention.sliding_window", whole_kind},
                            {"attn_logit_softcapping", "attn_logit_softcapping", number_kind},
                            {"final_logit_softcapping", "final_logit_softcapping", number_kind},
                            {"attention_multiplier", "attention.scale", number_kind},
                            {"embedding_multiplier", "embedding_scale", number_kind},
                            {"residual_multiplier", "residual_scale", number_kind},
                            {"logits_scaling", "logit_scale", number_kind}};

bool is(const Architecture& a, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return std::string(a.name) == name; });
}

const Rows& rows_of(const Architecture& a) { return is(a, {"gpt2"}) ? gpt2_rows : llama_rows; }

// Llama 3's scaling (transformers, _compute_llama3_parameters): long waves are divided by the factor, short ones not,
// and those between by a mixture.
struct Llama3Scaling {
  double factor, low = 1, high = 4, original = 8192;
};

std::vector<float> factors_of(const Llama3Scaling& s, double theta, std::int64_t head_dim) {
  std::vector<float> factors;
  for (std::int64_t i = 0; i < head_dim; i += 2) {
    const double wave = 2 * std::acos(-1.0) * std::pow(theta, static_cast<double>(i) / static_cast<double>(head_dim));
    const double mixture = (s.original / wave - s.low) / (s.high - s.low);
    const double factor = wave < s.original / s.high  ? 1
                          : wave > s.original / s.low ? s.factor
                                                      : 1 / ((1 - mixture) / s.factor + mixture);
    factors.push_back(static_cast<float>(factor));
  }
  return factors;
}

std::vector<float> stored_numbers(const File& file, const Tensor& tensor) {
  std::vector<float> numbers(static_cast<std::size_t>(tensor.bytes / 4));
  if (tensor.type != &type_named("F32"))
    throw base::DataError(
        base::say("'{}': tensor '{}' is {} and should be F32", file.path(), tensor.name, tensor.type->name));
  base::while_reading(file.mapping(),
                      [&] { std::memcpy(numbers.data(), file.mapping().data() + tensor.begin, numbers.size() * 4); });
  return numbers;
}

bool are_near(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](float x, float y) { return std::fabs(x - y) <= 1e-4F * std::fabs(y); });
}

// Null where the factors are all 1. Files of Llama 3 state their factors, not what they were computed from.
ordered_json llama3_scaling(const File& file, const Tensor& tensor, double theta, std::int64_t head_dim) {
  const std::vector<float> stored = stored_numbers(file, tensor);
  if (static_cast<std::int64_t>(stored.size()) != head_dim / 2)
    throw base::DataError(base::say("'{}' is damaged: tensor '{}' has {} numbers, but half a head has {}", file.path(),
                                    tensor.name, stored.size(), head_dim / 2));
  const Llama3Scaling s{stored.empty() ? 1 : static_cast<double>(stored.back())};
  if (std::all_of(stored.begin(), stored.end(), [](float factor) { return factor == 1; })) return nullptr;
  if (!are_near(stored, factors_of(s, theta, head_dim)))
    throw base::DataError(
        base::say("'{}' scales its rotary positions by factors (rope_freqs.weight) that are not those of Llama 3, and "
                  "these are not supported",
                  file.path()));
  return {{"rope_type", "llama3"},
          {"factor", s.factor},
          {"low_freq_factor", s.low},
          {"high_freq_factor", s.high},
          {"original_max_position_embeddings", 8192}};
}

ordered_json longrope_scaling(const File& file, const std::string& name) {
  ordered_json scaling{{"rope_type", "longrope"}};
  for (const char* kind : {"long", "short"})
    if (const Tensor* factors = file.header().find_tensor(std::string("rope_factors_") + kind + ".weight"))
      scaling[std::string(kind) + "_factor"] = stored_numbers(file, *factors);
  const double attention = file.header().number(name + ".rope.scaling.attn_factor", 0);
  if (attention != 0) scaling["attention_factor"] = attention;
  return scaling;
}

ordered_json scaling_of(const File& file, const std::string& name, std::int64_t head_dim) {
  const Header& header = file.header();
  const std::string at = name + ".rope.scaling.";
  if (const Tensor* factors = header.find_tensor("rope_freqs.weight"))
    return llama3_scaling(file, *factors, header.number(name + ".rope.freq_base", 10000), head_dim);
  if (header.find_tensor("rope_factors_long.weight") != nullptr) return longrope_scaling(file, name);
  const std::string type = header.text(at + "type", "none");
  if (type == "none") return nullptr;
  ordered_json scaling{{"rope_type", type}, {"factor", header.number(at + "factor", 1)}};
  if (header.has(at + "original_context_length"))
    scaling["original_max_position_embeddings"] = header.whole(at + "original_context_length", 0);
  if (header.has(at + "attn_factor")) scaling["attention_factor"] = header.number(at + "attn_factor", 1);
  return scaling;
}

bool has_same_bytes(const File& file, const Tensor& a, const Tensor& b) {
  if (a.type != b.type || a.shape != b.shape) return false;
  bool same = false;
  base::while_reading(file.mapping(), [&] {
    const std::byte* data = file.mapping().data();
    same = std::memcmp(data + a.begin, data + b.begin, static_cast<std::size_t>(a.bytes)) == 0;
  });
  return same;
}

bool is_tied(const File& file) {
  const Tensor *output = file.header().find_tensor("output.weight"),
               *table = file.header().find_tensor("token_embd.weight");
  return output == nullptr || (table != nullptr && has_same_bytes(file, *output, *table));
}

bool has_tensor(const Header& header, const std::string& ending) {
  return header.find_tensor("blk.0." + ending) != nullptr;
}

constexpr const char* window_pattern = ".attention.sliding_window_pattern";
std::int64_t usual_pattern(const Architecture& a) { return is(a, {"gemma2"}) ? 2 : 6; }

// Every so-and-so-many-th layer sees all positions, the others a window.
ordered_json layer_types(std::int64_t count, std::int64_t every) {
  ordered_json types = ordered_json::array();
  for (std::int64_t i = 1; i <= std::min<std::int64_t>(count, 4096); ++i)
    types.push_back(i % every == 0 ? "full_attention" : "sliding_attention");
  return types;
}

// No file states which layers of SmolLM3 have rotary positions: all but every fourth.
ordered_json rotated_layers(std::int64_t count) {
  ordered_json turns = ordered_json::array();
  for (std::int64_t i = 1; i <= std::min<std::int64_t>(count, 4096); ++i) turns.push_back(i % 4 == 0 ? 0 : 1);
  return turns;
}

// query_pre_attn_scalar, which no key states: of the largest model its width / heads.
std::int64_t scalar_of(const Architecture& a, std::int64_t layers, std::int64_t width, std::int64_t heads, std::int64_t head_dim) {
  const bool largest = layers == (is(a, {"gemma2"}) ? 46 : 62);
  return largest ? width / std::max<std::int64_t>(1, heads) : head_dim;
}

void add_keys_of_gemma(const Header& header, const Architecture& a, std::int64_t head_dim, ordered_json* config) {
  const std::string name = a.name;
  const std::int64_t layers = header.whole(name + ".block_count", 0),
                     width = header.whole(name + ".embedding_length", 0);
  (*config)["hidden_activation"] = "gelu_pytorch_tanh";
  if (is(a, {"gemma"})) return;
  (*config)["query_pre_attn_scalar"] = scalar_of(a, layers, width, header.whole(name + ".attention.head_count", 1), head_dim);
  const std::int64_t every = header.whole(name + window_pattern, usual_pattern(a));
  (*config)["layer_types"] = layer_types(layers, std::max<std::int64_t>(1, every));
  if (is(a, {"gemma3"})) (*config)["rope_local_base_freq"] = header.number(name + ".rope.freq_base_swa", 10000);
}

void add_keys_of_family(const Header& header, const Architecture& a, std::int64_t head_dim, ordered_json* config) {
  if (is(a, {"gpt2"})) {
    (*config)["activation_function"] = "gelu_new";
    return;
  }
  if (is(a, {"gemma", "gemma2", "gemma3"})) {
    add_keys_of_gemma(header, a, head_dim, config);
  } else {
    (*config)["hidden_act"] = "silu";
  }
  if (!is(a, {"qwen2"})) (*config)["attention_bias"] = has_tensor(header, "attn_q.bias");
  if (is(a, {"llama", "granite", "smollm3"})) (*config)["mlp_bias"] = has_tensor(header, "ffn_up.bias");
  const std::int64_t turned = header.whole(std::string(a.name) + ".rope.dimension_count", head_dim);
  if (turned != head_dim && head_dim > 0)
    (*config)["partial_rotary_factor"] = static_cast<double>(turned) / static_cast<double>(head_dim);
  if (is(a, {"phi3"}))
    (*config)["original_max_position_embeddings"] =
        header.whole("phi3.rope.scaling.original_context_length", header.whole("phi3.context_length", 0));
  if (is(a, {"smollm3"})) (*config)["no_rope_layers"] = rotated_layers((*config)["num_hidden_layers"]);
}

void add_token_ids(const Header& header, ordered_json* config) {
  const auto id = [&](const char* key) { return header.whole(std::string("tokenizer.ggml.") + key, -1); };
  if (id("bos_token_id") >= 0) (*config)["bos_token_id"] = id("bos_token_id");
  if (id("padding_token_id") >= 0) (*config)["pad_token_id"] = id("padding_token_id");
  std::vector<std::int64_t> ends;
  for (const char* key : {"eos_token_id", "eot_token_id", "eom_token_id"})
    if (id(key) >= 0 && std::find(ends.begin(), ends.end(), id(key)) == ends.end()) ends.push_back(id(key));
  if (!ends.empty()) (*config)["eos_token_id"] = ends.size() == 1 ? ordered_json(ends[0]) : ordered_json(ends);
}

void add_value(const Header& header, const std::string& key, const Row& row, ordered_json* config) {
  if (!header.has(key)) return;
  if (row.kind == number_kind) {
    (*config)[row.published] = header.number(key, 0);
  } else {
    (*config)[row.published] = header.whole(key, 0);
  }
}

void add_rows(const Header& header, const Architecture& a, ordered_json* config) {
  const std::string at = std::string(a.name) + ".";
  for (const Row& row : rows_of(a)) {
    const bool has_default =
        std::string(row.gguf) == "attention.head_count_kv" || std::string(row.gguf) == "rope.freq_base";
    if (!header.has(at + row.gguf) && !has_default)
      throw base::DataError(base::say("'{}' does not state {}", header.origin(), at + row.gguf));
    add_value(header, at + row.gguf, row, config);
  }
  if (is(a, {"gpt2"})) return;
  if (!config->contains("num_key_value_heads")) (*config)["num_key_value_heads"] = (*config)["num_attention_heads"];
  if (!config->contains("rope_theta")) (*config)["rope_theta"] = 10000.0;
  for (const Row& row : optional_rows) add_value(header, at + row.gguf, row, config);
  if (config->value("sliding_window", ordered_json(1)) == 0) (*config)["sliding_window"] = nullptr;
}

}  // namespace

std::string config_json(const File& file) {
  const Header& header = file.header();
  const Architecture& a = architecture_of(header);
  const std::string at = std::string(a.name) + ".";
  const std::int64_t head_dim = head_rows_of(header);
  ordered_json config{{"architectures", {a.model_class}}, {"model_type", a.model_type}};
  if (header.whole(at + "expert_count", 0) > 0) config["num_local_experts"] = header.whole(at + "expert_count", 0);
  add_rows(header, a, &config);
  if (!is(a, {"gpt2"})) {
    config["head_dim"] = head_dim;
    config["rope_scaling"] = scaling_of(file, a.name, head_dim);
  }
  add_keys_of_family(header, a, head_dim, &config);
  const Tensor* table = header.find_tensor("token_embd.weight");
  if (table == nullptr)
    throw base::DataError(base::say("'{}' has no tensor token_embd.weight; it holds no whole model", file.path()));
  config["vocab_size"] = table->shape.front();
  config["tie_word_embeddings"] = is_tied(file);
  add_token_ids(header, &config);
  return config.dump(2) + "\n";
}

std::vector<float> rotary_factors(const std::string& text) {
  const ordered_json config = ordered_json::parse(text);
  const ordered_json scaling = config.value("rope_scaling", ordered_json());
  if (!scaling.is_object() || scaling.value("rope_type", "") != "llama3") return {};
  return factors_of({scaling.at("factor"), scaling.at("low_freq_factor"), scaling.at("high_freq_factor"),
                     scaling.at("original_max_position_embeddings")},
                    config.at("rope_theta"), config.at("head_dim"));
}

namespace {

[[noreturn]] void refuse_unstated(const base::Text& why) {
  throw base::DataError(base::say("the model cannot be written as GGUF: {}; leave .gguf out, which writes a model folder", why));
}

// What a reader of the file would take for something else, and the keys of Gemma's layers.
void add_layer_keys(const ordered_json& config, const Architecture& a, Keys* keys) {
  const ordered_json window = config.value("sliding_window", ordered_json());
  if (!is(a, {"gemma3"}) && window.is_number() && window != 0)
    refuse_unstated(base::say("files of the architecture {} state no window of attention, and sliding_window is {}", a.name, window.get<std::int64_t>()));
  if (is(a, {"gemma3"})) {
    const ordered_json types = config.at("layer_types");
    const auto full = std::find(types.begin(), types.end(), "full_attention");
    const std::int64_t every = full - types.begin() + 1;
    if (types != layer_types(static_cast<std::int64_t>(types.size()), every)) refuse_unstated(base::say("its layers without a window are not one in so many"));
    const std::int64_t scalar = scalar_of(a, config.at("num_hidden_layers"), config.at("hidden_size"), config.at("num_attention_heads"), config.at("head_dim"));
    if (config.at("query_pre_attn_scalar") != scalar)
      refuse_unstated(base::say("no key states query_pre_attn_scalar, and readers take {}", scalar));
    if (every != usual_pattern(a)) keys->whole(std::string(a.name) + window_pattern, every);
  }
  if (is(a, {"smollm3"}) && config.at("no_rope_layers") != rotated_layers(config.at("num_hidden_layers")))
    refuse_unstated(base::say("no key states which layers have no rotary positions, and readers take every fourth"));
}

void add_scaling_keys(const ordered_json& scaling, const std::string& at, Keys* keys) {
  const std::string type = scaling.value("rope_type", "default");
  if (type == "default" || type == "llama3") return;
  if (type != "linear" && type != "yarn")
    throw base::DataError(
        base::say("rope_scaling {} of the model has no keys in GGUF files; linear, yarn and llama3 have", type));
  if (scaling.contains("attention_factor") || scaling.value("beta_fast", 32.0) != 32 || scaling.value("beta_slow", 1.0) != 1)
    refuse_unstated(base::say("of yarn the keys state the factor and the original positions alone"));
  keys->text(at + "type", type);
  keys->number(at + "factor", scaling.value("factor", 1.0));
  if (scaling.contains("original_max_position_embeddings"))
    keys->whole(at + "original_context_length", scaling.at("original_max_position_embeddings"));
}

}  // namespace

void add_config_keys(const std::string& text, const Architecture& a, Keys* keys) {
  const ordered_json config = ordered_json::parse(text);
  const std::string at = std::string(a.name) + ".";
  const auto add = [&](const Row& row) {
    const auto value = config.find(row.published);
    if (value == config.end() || !value->is_number()) return;
    if (row.kind == number_kind) return keys->number(at + row.gguf, *value);
    keys->whole(at + row.gguf, *value);
  };
  for (const Row& row : rows_of(a)) add(row);
  keys->whole(at + "vocab_size", config.at("vocab_size"));
  if (is(a, {"gpt2"})) return;
  for (const Row& row : optional_rows) add(row);
  add_layer_keys(config, a, keys);
  for (const char* key : {"attention.key_length", "attention.value_length"})
    keys->whole(at + key, config.at("head_dim"));
  const double share = config.value("partial_rotary_factor", 1.0);
  keys->whole(at + "rope.dimension_count", static_cast<std::int64_t>(share * config.at("head_dim").get<double>()));
  if (config.contains("rope_local_base_freq"))
    keys->number(at + "rope.freq_base_swa", config.at("rope_local_base_freq"));
  const ordered_json scaling = config.value("rope_scaling", ordered_json());
  if (scaling.is_object()) add_scaling_keys(scaling, at + "rope.scaling.", keys);
}

}  // namespace troika::gguf
