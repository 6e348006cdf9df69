// YAML files of LLaMA-Factory as a layer of settings. llama_factory_keys.cc has the vocabulary.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "config/import/flat_keys.h"
#include "config/layers.h"

namespace troika::config {

// Whether a file with these keys at top level is one: it says stage, finetuning_type, do_train, template or cutoff_len.
bool is_llama_factory(const FlatKeys& keys);

// Its settings, and its program's defaults for what it leaves out. Keys without effect are one note, defaults another.
// A DeepSpeed file is looked for at its path and then beside this file; DataError when it is no JSON. Unknown keys are
// errors with the nearest name.
Layer read_llama_factory(const FlatKeys& keys);

// The origin of what the file leaves out.
base::Text llama_factory_default();

// An error for each setting to which two keys, or a key and a section of ours, give different values.
void refuse_contradictions(Layer* layer);

// Keys that are read in groups, those whose meaning is `combined` except deepspeed: the keys of a file and what becomes of
// them.
struct CombinedKeys {
  const FlatKeys& keys;
  Layer& layer;
  std::vector<std::string>& idle;  // names of keys without effect

  // `name`: the key that the value belongs to, present or not.
  void assign(std::string_view setting, const std::string& value, std::string_view name) const;
  void assign_default(std::string_view setting, const std::string& value) const;  // which a section may overrule
  void copy(std::string_view setting, std::string_view name) const;               // where it is stated
  bool is_on(std::string_view name) const;  // a switch: an error where it says neither true nor false
  void when_on(std::string_view name, std::string_view setting, const std::string& value) const;  // where it is on
  void set_aside(std::initializer_list<std::string_view> names) const;                            // without effect
  void fail(std::string_view name, const base::Text& what) const;
  // "save_strategy takes steps, epoch, no, not 'x'", with the nearest word.
  void fail_word(std::string_view name, const std::vector<std::string>& words) const;
};

bool is_one_of(const std::string& text, const std::vector<std::string>& words);
bool pretrains(const FlatKeys& keys);              // stage pt
bool is_llama_factory_lora(const FlatKeys& keys);  // finetuning_type lora, its default

void read_finetuning_keys(const CombinedKeys& combined);  // stage, what is trained, data, templates, loss, packing
void read_training_keys(const CombinedKeys& combined);    // saving, evaluation, learning rate, optimizer, FSDP, device

// The vocabulary of LLaMA-Factory's YAML files (its model, data and fine-tuning arguments, and the training arguments
// of transformers), and the meaning of each key here. docs/llama-factory.md is printed from it.
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

// A key that its files leave out, with a default that differs from the one here: "batch.seq_len" -> "2048".
struct LlamaFactoryDefault {
  std::string_view key, value;
};
const std::vector<LlamaFactoryDefault>& llama_factory_defaults();

// The page docs/llama-factory.md.
std::string llama_factory_markdown();

}  // namespace troika::config
