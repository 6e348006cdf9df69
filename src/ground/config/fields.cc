#include "config/fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika::config {

// A Target is a way to write, but get_text and violation only read through it.
static Target target_in(const Field& field, const Settings& settings) {
  return field.target(const_cast<Settings&>(settings));
}

bool Field::is_truth() const { return config::is_truth(target_in(*this, Settings{})); }
bool Field::is_text() const { return config::is_text(target_in(*this, Settings{})); }
bool Field::is_list() const { return config::is_list(target_in(*this, Settings{})); }

const Field* find_field(std::string_view name) {
  for (const auto& field : fields()) {
    if (means(name, field)) return &field;
  }
  return nullptr;
}

const Field* find_field(std::string_view section, std::string_view name) {
  for (const auto& field : fields()) {
    if (field.section == section && (same_name(field.name, name) || is_spelling_of(field, name))) return &field;
  }
  return nullptr;
}

const Field& field_of(std::string_view key) {
  for (const auto& field : fields()) {
    if (key.size() == field.section.size() + 1 + field.name.size() && field.key() == key) return field;
  }
  throw base::BugError(fmt::format("the settings table has no row '{}'", key));
}

std::string get_text(const Field& field, const Settings& settings) {
  return get_text(field, target_in(field, settings));
}

std::optional<base::Text> set_text(const Field& field, const std::string& text, Settings* settings) {
  return set_text(field, text, field.target(*settings));
}

std::optional<base::Text> violation(const Field& field, const Settings& settings) {
  return violation(field, target_in(field, settings));
}

std::string canonical_text(const Field& field, const std::string& text) {
  Settings scratch;
  return set_text(field, text, &scratch) ? text : get_text(field, scratch);
}

std::string agreement_text(const Field& field, const Settings& settings) {
  const std::string text = get_text(field, settings);
  switch (field.agreement) {
    case Agreement::none:
      return "";
    case Agreement::kind:
      return text.substr(0, text.find(':'));
    case Agreement::word_or_path: {
      const bool known = std::find(field.words.begin(), field.words.end(), text) != field.words.end();
      return known || text == bytes_tokenizer ? text : "a path";
    }
    case Agreement::value:
      break;
  }
  return text;
}

}  // namespace troika::config
