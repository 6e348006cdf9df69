#include "config/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <type_traits>

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

namespace {

// A row under construction.
struct FieldRow : Columns<FieldRow> {
  Field field;
  Flag& columns() { return field; }
  FieldRow& agree(Agreement agreement) { return field.agreement = agreement, *this; }
};

// Takes the rows of one struct of settings.
template <class Section>
class SectionRows {
 public:
  explicit SectionRows(Section Settings::*section) : section_(section) {}

  template <class T>
  FieldRow& add(std::string_view key, T Section::*member, Literal help) {
    FieldRow& row = rows_.emplace_back();
    row.field.section = Section::section;
    row.field.name = key;
    row.field.help = help;
    row.field.target = [section = section_, member](Settings& settings) {
      return target_of(settings.*section.*member);
    };
    if constexpr (std::is_enum_v<T>) row.words(words_of(T{}));
    return row;
  }

  void move_to(std::vector<Field>* fields) {
    for (FieldRow& row : rows_) fields->push_back(std::move(row.field));
  }

 private:
  Section Settings::*section_;
  std::deque<FieldRow> rows_;
};

template <class Section>
void add_section(Section Settings::*section, std::vector<Field>* fields) {
  SectionRows<Section> rows(section);
  Section::add_rows(rows);
  rows.move_to(fields);
}

struct SettingsTable {
  std::vector<Field> fields;
  std::vector<SectionTitle> titles;

  template <class... Sections>
  explicit SettingsTable(Sections Settings::*... sections) : titles{{Sections::section, Sections::title}...} {
    (add_section(sections, &fields), ...);
  }
};

const SettingsTable& settings_rows() {
  static const SettingsTable table(&Settings::model, &Settings::lora, &Settings::data, &Settings::batch,
                                   &Settings::parallel, &Settings::optimizer, &Settings::precision, &Settings::train,
                                   &Settings::checkpoint, &Settings::comm, &Settings::log);
  return table;
}

}  // namespace

const std::vector<Field>& fields() { return settings_rows().fields; }
const std::vector<SectionTitle>& section_titles() { return settings_rows().titles; }

Settings::Settings() = default;
Settings::Settings(const Settings&) = default;
Settings::Settings(Settings&&) noexcept = default;
Settings& Settings::operator=(const Settings&) = default;
Settings& Settings::operator=(Settings&&) noexcept = default;
Settings::~Settings() = default;

}  // namespace troika::config
