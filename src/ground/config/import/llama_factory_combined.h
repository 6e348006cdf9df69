// The keys of LLaMA-Factory that are read in groups: those whose meaning is `combined` (llama_factory_keys.h),
// except deepspeed.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "config/import/flat_keys.h"
#include "config/layers.h"

namespace troika::config {

// The keys of a file and what becomes of them.
struct CombinedKeys {
  const FlatKeys& keys;
  Layer& layer;
  std::vector<std::string>& idle;  // names of keys without effect

  // `name`: the key that the value stands for, present or not.
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

}  // namespace troika::config
