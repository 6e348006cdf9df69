#include "config/layers.h"

#include <yaml-cpp/yaml.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/say.h"
#include "base/text.h"
#include "config/import/flat_keys.h"
#include "config/import/llama_factory.h"
#include "config/spellings.h"

namespace troika::config {
namespace {

base::Text named(std::string_view name, const base::Text& section_clause, const std::string& near) {
  return base::say("unknown key '{}'{}{}", name, section_clause, did_you_mean(near));
}

class YamlReader {
 public:
  explicit YamlReader(base::Origin origin) : origin_(origin.text()) {}

  Layer read(const std::string& text) {
    if (text.size() > most_bytes) {
      layer_.errors.push_back(base::say("{} has {} bytes, but settings have at most {}", origin_, text.size(), most_bytes));
      return std::move(layer_);
    }
    try {
      const std::vector<YAML::Node> documents = YAML::LoadAll(text);
      for (std::size_t i = 1; i < documents.size(); ++i) {
        if (!documents[i].IsNull()) return refuse_document(documents[i]);
      }
      read_root(documents.empty() ? YAML::Node() : documents.front());
    } catch (const YAML::Exception& error) {
      layer_.errors.push_back(base::say("{} is not valid YAML: {}", at(error.mark), error.msg));
    }
    return std::move(layer_);
  }

 private:
  static constexpr std::size_t most_bytes = 1 << 20, most_errors = 100;

  bool gives_up() const { return layer_.errors.size() >= most_errors; }

  base::Text at(const YAML::Mark& mark) const {
    return mark.is_null() ? origin_ : base::say("{} line {}", origin_, mark.line + 1);
  }

  void fail(const YAML::Node& node, const base::Text& what) {
    layer_.errors.push_back(base::say("{}: {}", at(node.Mark()), what));
  }

  Layer refuse_document(const YAML::Node& document) {
    fail(document, base::say("a second YAML document begins after '---', but settings are one document: remove that line, or keep one of them"));
    return std::move(layer_);
  }

  void read_root(const YAML::Node& root) {
    if (root.IsNull()) {
      layer_.errors.push_back(base::say("{} is empty: it needs at least one section such as train:", origin_));
    } else if (!root.IsMap()) {
      fail(root, base::say("expected sections such as model: and train:, each with keys below it"));
    } else if (const FlatKeys keys = flat_keys(root); is_llama_factory(keys)) {
      layer_ = read_llama_factory(keys);
      read_sections(root);
      refuse_contradictions(&layer_);
    } else {
      for (auto entry = root.begin(); entry != root.end() && !gives_up(); ++entry)
        read_top(entry->first, entry->second);
    }
  }

  // The keys at top level beside sections.
  FlatKeys flat_keys(const YAML::Node& root) {
    std::vector<FlatKey> keys;
    for (const auto& entry : root) {
      if (!entry.first.IsScalar() || is_section(entry.first, entry.second)) continue;
      keys.push_back(flat_key(entry.first, entry.second));
    }
    return {origin_, std::move(keys)};
  }

  FlatKey flat_key(const YAML::Node& key, const YAML::Node& value) {
    FlatKey flat{key.Scalar(), FlatKey::Kind::text, "", at(key.Mark())};
    if (value.IsNull()) {
      flat.kind = FlatKey::Kind::nothing;
    } else if (value.IsMap()) {
      flat.kind = FlatKey::Kind::object;
      flat.text = json_text(value);
    } else {
      flat.text = value.IsScalar() ? base::trim(value.Scalar()) : parts_of(value);
    }
    return flat;
  }

  // Anchors can refer to themselves, or to more than memory holds: `budget` bounds the values, `depth` the nesting.
  static nlohmann::json json_of(const YAML::Node& node, int depth, int* budget) {
    if (depth == 0 || --*budget < 0) return "too much";
    if (node.IsScalar()) return node.Scalar();
    nlohmann::json value;
    if (node.IsMap()) value = nlohmann::json::object();
    for (auto entry = node.begin(); entry != node.end() && *budget > 0; ++entry) {
      if (node.IsSequence()) {
        value.push_back(json_of(*entry, depth - 1, budget));
      } else if (entry->first.IsScalar()) {
        value[entry->first.Scalar()] = json_of(entry->second, depth - 1, budget);
      }
    }
    return value;
  }

  static std::string json_text(const YAML::Node& node) {
    int budget = 4096;
    return json_of(node, 16, &budget).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  // The sections of a file that has other keys beside them.
  void read_sections(const YAML::Node& root) {
    for (auto entry = root.begin(); entry != root.end() && !gives_up(); ++entry) {
      if (is_section(entry->first, entry->second)) read_top(entry->first, entry->second);
    }
  }

  static bool is_section(const YAML::Node& key, const YAML::Node& value) {
    return key.IsScalar() && value.IsMap() && section_exists(key.Scalar());
  }

  void read_top(const YAML::Node& key, const YAML::Node& value) {
    if (!key.IsScalar()) return fail(key, base::say("a key must be a string"));
    const std::string name = key.Scalar();
    const bool names_section = name.find('.') == std::string::npos && section_exists(name);
    if (is_section(key, value)) {
      for (auto entry = value.begin(); entry != value.end() && !gives_up(); ++entry)
        read_key(name, entry->first, entry->second);
    } else if (names_section && !value.IsNull()) {
      fail(value, base::say("section {} needs keys below it", name));
    } else if (!names_section) {
      read_flat(key, value);
    }
  }

  void read_key(const std::string& section, const YAML::Node& key, const YAML::Node& value) {
    if (!key.IsScalar()) return fail(key, base::say("a key must be a string"));
    const Field* field = find_field(section, key.Scalar());
    if (field != nullptr) return assign(*field, key, value);
    std::vector<std::string> names;
    for (const auto& row : fields()) {
      if (row.section == section) names.emplace_back(row.name);
    }
    const Field* elsewhere = find_field(key.Scalar());
    fail(key, named(key.Scalar(), base::say(" in section {}", section),
                    elsewhere != nullptr ? elsewhere->key() : base::nearest(key.Scalar(), names)));
  }

  void read_flat(const YAML::Node& key, const YAML::Node& value) {
    const std::string name = key.Scalar();
    if (const Ignored* row = find_ignored(name)) {
      layer_.notes.push_back(base::say("{} is ignored: {}", name, base::say(row->why)));
    } else if (const Switch* on = find_switch(name)) {
      read_switch(*on, key, value);
    } else if (const Field* field = find_field(name)) {
      assign(*field, key, value);
    } else {
      fail(key, named(name, {}, nearest_top(name)));
    }
  }

  void read_switch(const Switch& on, const YAML::Node& key, const YAML::Node& value) {
    const auto set = value.IsScalar() ? parse_bool(value.Scalar()) : std::nullopt;
    if (!set) return fail(key, base::say("{} takes true or false", on.name));
    if (*set) layer_.assignments.push_back({&field_of(on.key), std::string(on.value), at(key.Mark())});
  }

  void assign(const Field& field, const YAML::Node& key, const YAML::Node& value) {
    const auto [first, is_new] = lines_.emplace(&field, key.Mark().line + 1);
    if (!is_new) return fail(key, base::say("{} is given twice, first on line {}", field.key(), first->second));
    std::string text;
    if (value.IsNull()) {
      const bool may_be_empty = field.is_text() || field.is_list();
      text = may_be_empty ? "" : "null";
    } else if (value.IsSequence() && field.is_list()) {
      text = parts_of(value);
    } else if (value.IsScalar()) {
      text = value.Scalar();
    } else {
      return fail(
          key, base::say(value.IsMap() ? base::Phrase("{} takes one value, not a section") : base::Phrase("{} takes one value, not a list"), field.key()));
    }
    layer_.assignments.push_back({&field, text, at(key.Mark())});
  }

  static std::string parts_of(const YAML::Node& sequence) {
    std::vector<std::string> parts;
    for (const auto& part : sequence) parts.push_back(part.IsScalar() ? part.Scalar() : "a nested value");
    return base::join(parts, ",");
  }

  static bool section_exists(const std::string& name) {
    for (const auto& row : fields()) {
      if (row.section == name) return true;
    }
    return false;
  }

  static std::string nearest_top(const std::string& name) {
    std::vector<std::string> names;
    for (const auto& row : fields()) {
      if (names.empty() || names.back() != row.section) names.emplace_back(row.section);
    }
    for (const auto& row : fields()) names.insert(names.end(), row.flags.begin(), row.flags.end());
    for (const auto& row : fields()) names.insert(names.end(), row.familiar.begin(), row.familiar.end());
    const std::string near = base::nearest(normalised(name), names);
    for (const auto& row : fields()) {
      if (near.empty() && row.name == name) return row.key();
    }
    return near;
  }

  base::Text origin_;
  Layer layer_;
  std::map<const Field*, int> lines_;
};

}  // namespace

Layer read_yaml(const std::string& text, base::Origin origin) { return YamlReader(origin).read(text); }

}  // namespace troika::config
