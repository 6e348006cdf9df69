#include "weights/hugging_face_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "shape/layout.h"

namespace troika::weights {
namespace {

using nlohmann::ordered_json;

bool is_token_id(const nlohmann::json& value) {
  return value.is_number_integer() ||
         (value.is_array() &&
          std::all_of(value.begin(), value.end(), [](const nlohmann::json& id) { return id.is_number_integer(); }));
}

// An id, or several that end a text. What is not said stays unsaid.
void copy_token_ids(const std::string& source, ordered_json* to) {
  if (source.empty()) return;
  const nlohmann::json from = base::parse_json(source, "the config.json of the model's source");
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    if (from.is_object() && from.contains(key) && is_token_id(from[key])) (*to)[key] = from[key];
  }
}

std::string torch_name(const std::string& dtype) {
  using config::Precision;
  const auto precision = config::parse_word<Precision>(dtype);
  if (precision == Precision::fp32) return "float32";
  if (precision == Precision::bf16) return "bfloat16";
  if (precision == Precision::fp16) return "float16";
  throw base::BugError("weights cannot be in '" + dtype + "'");
}

}  // namespace

std::string hugging_face_config(const config::ModelSettings& model, const std::string& dtype,
                                const std::string& source) {
  ordered_json config = ordered_json::parse(shape::hugging_face_config(model));
  config["torch_dtype"] = torch_name(dtype);
  copy_token_ids(source, &config);
  return config.dump(2) + "\n";
}

std::string hugging_face_generation_config(const std::string& source) {
  ordered_json config;
  config["_from_model_config"] = true;
  copy_token_ids(source, &config);
  return config.dump(2) + "\n";
}

}  // namespace troika::weights
