#include "config/import/llama_factory_combined.h"

#include <algorithm>

#include "base/say.h"
#include "base/text.h"
#include "config/did_you_mean.h"
#include "config/import/llama_factory.h"

namespace troika::config {

void CombinedKeys::assign(std::string_view setting, const std::string& value, std::string_view name) const {
  const FlatKey* key = keys.find(name);
  layer.assignments.push_back({&field_of(setting), value, key == nullptr ? keys.file() : key->origin});
}

void CombinedKeys::assign_default(std::string_view setting, const std::string& value) const {
  layer.assignments.push_back({&field_of(setting), value, llama_factory_default()});
}

void CombinedKeys::copy(std::string_view setting, std::string_view name) const {
  if (keys.find(name) != nullptr) assign(setting, keys.text(name), name);
}

bool CombinedKeys::is_on(std::string_view name) const {
  const FlatKey* key = keys.find(name);
  if (key == nullptr) return false;
  const auto on = parse_bool(key->text);
  if (!on) fail(name, base::say("{} takes true or false, not '{}'", key->name, key->text));
  return on.value_or(false);
}

void CombinedKeys::when_on(std::string_view name, std::string_view setting, const std::string& value) const {
  if (is_on(name)) assign(setting, value, name);
}

void CombinedKeys::set_aside(std::initializer_list<std::string_view> names) const {
  for (const auto name : names) {
    if (keys.find(name) != nullptr) idle.emplace_back(name);
  }
}

void CombinedKeys::fail(std::string_view name, const base::Text& what) const {
  const FlatKey* key = keys.find(name);
  layer.errors.push_back(base::say("{}: {}", key == nullptr ? keys.file() : key->origin, what));
}

void CombinedKeys::fail_word(std::string_view name, const std::vector<std::string>& words) const {
  const std::string near = base::nearest(keys.text(name), words);
  fail(name, base::say("{} takes {}, not '{}'{}", name, base::join(words, ", "), keys.text(name), did_you_mean(near)));
}

bool is_one_of(const std::string& text, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool pretrains(const FlatKeys& keys) { return keys.text("stage") == "pt"; }

bool is_llama_factory_lora(const FlatKeys& keys) { return keys.text("finetuning_type", "lora") == "lora"; }

}  // namespace troika::config
