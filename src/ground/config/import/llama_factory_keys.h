// The vocabulary of LLaMA-Factory's YAML files (its model, data and fine-tuning arguments, and the training arguments
// of transformers), and the meaning of each key here. docs/llama-factory.md is printed from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troika::config {

struct LlamaFactoryKey {
  enum class Meaning {
    spelling,  // a familiar spelling of a setting or switch (fields.h, spellings.h)
    lora,      // the same, where finetuning_type is lora
    combined,  // read together with others in llama_factory.cc; `text` says what becomes of it
    idle,      // has no effect here; `text` is the reason
    refused,   // refused unless it asks for nothing (false, null, none); `text` is the reason
  };
  std::string_view name;  // ends in '*' when a prefix
  Meaning meaning;
  std::string_view text;
};

const std::vector<LlamaFactoryKey>& llama_factory_keys();
// The row for a name, exact names before prefixes, or nullptr.
const LlamaFactoryKey* find_llama_factory_key(std::string_view name);

// What its files leave out, and that differs from the defaults here: "batch.seq_len" -> "2048".
struct LlamaFactoryDefault {
  std::string_view key, value;
};
const std::vector<LlamaFactoryDefault>& llama_factory_defaults();

// The page docs/llama-factory.md.
std::string llama_factory_markdown();

}  // namespace troika::config
