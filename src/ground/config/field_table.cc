// The table of settings, from the rows that are beside the members (settings/rows.h).
#include <deque>
#include <functional>
#include <type_traits>

#include "config/fields.h"

namespace troika::config {
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

}  // namespace troika::config
