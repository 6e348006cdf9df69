#include "config/import/llama_factory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/say.h"
#include "base/text.h"
#include "config/import/deepspeed.h"
#include "config/spellings.h"

namespace troika::config {
namespace {

bool assigns(const Layer& layer, const Field& field) {
  const auto is_of_field = [&](const Assignment& assignment) { return assignment.field == &field; };
  return std::any_of(layer.assignments.begin(), layer.assignments.end(), is_of_field);
}

class LlamaFactoryReader {
 public:
  explicit LlamaFactoryReader(const FlatKeys& keys) : keys_(keys) {}

  Layer read() {
    check_twice();
    for (const FlatKey& key : keys_.all()) read_key(key);
    for (const auto read : {read_finetuning_keys, read_training_keys}) read({keys_, layer_, idle_});
    read_sharding();
    take_defaults();
    note_idle();
    return std::move(layer_);
  }

 private:
  using Meaning = LlamaFactoryKey::Meaning;

  void fail(const FlatKey& key, const base::Text& what) {
    layer_.errors.push_back(base::say("{}: {}", key.origin, what));
  }

  void check_twice() {
    for (auto key = keys_.all().begin(); key != keys_.all().end(); ++key) {
      const auto first = std::find_if(keys_.all().begin(), key, [&](const FlatKey& k) { return k.name == key->name; });
      if (first != key) fail(*key, base::say("{} is given twice, first in {}", key->name, first->origin));
    }
  }

  void read_key(const FlatKey& key) {
    const LlamaFactoryKey* row = find_llama_factory_key(key.name);
    if (row == nullptr || row->meaning == Meaning::spelling) return read_spelling(key);
    if (row->meaning == Meaning::combined || key.kind == FlatKey::Kind::nothing) return;
    if (row->meaning == Meaning::lora && is_llama_factory_lora(keys_)) return read_spelling(key);
    if (row->meaning != Meaning::refused) {
      idle_.push_back(key.name);
    } else if (!key.asks_nothing()) {
      fail(key, base::say("{} is not supported: {}", key.name, base::say(base::Phrase(row->text))));
    }
  }

  // As at top level of a file of our own.
  void read_spelling(const FlatKey& key) {
    const Field* field = find_field(key.name);
    const Switch* on = find_switch(key.name);
    if (find_ignored(key.name) != nullptr) {
      idle_.push_back(key.name);
    } else if (field == nullptr && on == nullptr) {
      fail_unknown(key);
    } else if (key.kind == FlatKey::Kind::object) {
      fail(key, base::say("{} takes one value, not a section", key.name));
    } else if (key.kind == FlatKey::Kind::nothing) {
      return;
    } else if (on != nullptr) {
      read_switch(*on, key);
    } else {
      layer_.assignments.push_back({field, key.text, key.origin});
    }
  }

  void read_switch(const Switch& on, const FlatKey& key) {
    const auto set = parse_bool(key.text);
    if (!set) return fail(key, base::say("{} takes true or false, not '{}'", key.name, key.text));
    if (*set) layer_.assignments.push_back({&field_of(on.key), std::string(on.value), key.origin});
  }

  void fail_unknown(const FlatKey& key) {
    std::vector<std::string> names;
    for (const auto& row : llama_factory_keys()) names.push_back(normalised(row.name));
    for (const auto& row : fields()) names.insert(names.end(), row.familiar.begin(), row.familiar.end());
    std::string near = base::nearest(normalised(key.name), names);
    std::replace(near.begin(), near.end(), '-', '_');
    fail(key, base::say("unknown key '{}'{}", key.name, did_you_mean(near)));
  }

  // What DeepSpeed's file states must agree with what this file states.
  void read_sharding() {
    const FlatKey* deepspeed = keys_.find("deepspeed");
    if (deepspeed == nullptr || deepspeed->asks_nothing()) return;
    DeepSpeed theirs = read_deepspeed(*deepspeed, keys_.file().english);
    const Field& rounds = field_of("batch.accumulation");
    const bool states_total = assigns(theirs.layer, field_of("batch.global_batch_size"));
    if (states_total && !assigns(layer_, rounds) && !assigns(theirs.layer, rounds))
      layer_.assignments.push_back({&rounds, "1", llama_factory_default()});
    take_deepspeed(std::move(theirs), &layer_);
  }

  void take_defaults() {
    std::vector<std::string> taken;
    for (const LlamaFactoryDefault& row : llama_factory_defaults()) {
      const Field& field = field_of(row.key);
      if (assigns(layer_, field)) continue;
      layer_.assignments.push_back({&field, std::string(row.value), llama_factory_default()});
      taken.push_back(fmt::format("{} {}", row.key, row.value));
    }
    if (taken.empty()) return;
    layer_.notes.push_back(base::say("'{}' is read as a LLaMA-Factory file; keys it omits have LLaMA-Factory's defaults: {}", keys_.file(), base::join(taken, ", ")));
  }

  void note_idle() {
    if (idle_.empty()) return;
    layer_.notes.push_back(base::say("'{}' has keys that have no effect here (docs/llama-factory.md): {}", keys_.file(), base::join(idle_, ", ")));
  }

  const FlatKeys& keys_;
  Layer layer_;
  std::vector<std::string> idle_;  // names of keys without effect
};

}  // namespace

bool is_llama_factory(const FlatKeys& keys) {
  const auto& all = keys.all();
  return std::any_of(all.begin(), all.end(), [](const FlatKey& key) {
    const auto is = [&](std::string_view name) { return key.name == name; };
    return is("stage") || is("finetuning_type") || is("do_train") || is("template") || is("cutoff_len");
  });
}

base::Text llama_factory_default() { return base::say("LLaMA-Factory's default"); }

Layer read_llama_factory(const FlatKeys& keys) { return LlamaFactoryReader(keys).read(); }

void refuse_contradictions(Layer* layer) {
  const auto by_default = [origin = llama_factory_default().english](const Assignment& assignment) {
    return assignment.origin.english == origin;
  };
  for (auto later = layer->assignments.begin(); later != layer->assignments.end(); ++later) {
    const Field& field = *later->field;
    const auto first = std::find_if(layer->assignments.begin(), later, [&](const Assignment& assignment) {
      return assignment.field == &field && !by_default(assignment);
    });
    if (first == later || by_default(*later)) continue;
    if (canonical_text(field, first->value) == canonical_text(field, later->value)) continue;
    layer->errors.push_back(
        base::say("{}: {}", later->origin,
                  base::say("{0} is given twice, as {1} here and first as {2} in {3}", field.key(), later->value, first->value, first->origin)));
  }
}

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
