// The one table of settings: each row names a member of Settings once. Flags, YAML, help, printing, the documentation,
// completion, the check of single values and the agreement between ranks all walk this table.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/flag.h"
#include "config/settings/settings.h"

namespace troika::config {

// One row: a Flag with its section, and the member of Settings that holds its value.
struct Field : Flag {
  std::function<Target(Settings&)> target;
  Agreement agreement = Agreement::value;

  bool is_truth() const;  // true or false
  bool is_text() const;   // a text or a word
  bool is_list() const;   // several values, comma-separated
};

// All rows, section by section in the order of Settings. Built on first use, then constant; threads: safe.
const std::vector<Field>& fields();

struct SectionTitle {
  std::string_view section;
  base::Phrase title;
};
const std::vector<SectionTitle>& section_titles();  // in the same order

// The row that a flag or flat key means ("steps", "train.steps", "train_steps", "max-steps"), or nullptr.
const Field* find_field(std::string_view name);
// The row of a YAML key inside its section (its own name or a familiar spelling), or nullptr.
const Field* find_field(std::string_view section, std::string_view name);
// The row of "section.name" in the table's own spelling; BugError when there is none.
const Field& field_of(std::string_view key);

// flag.h has what these give; the settings are the variables.
std::string get_text(const Field& field, const Settings& settings);
std::optional<base::Text> set_text(const Field& field, const std::string& text, Settings* settings);
std::optional<base::Text> violation(const Field& field, const Settings& settings);

// `text` as get_text would print the value, so that 1e-4 and 0.0001 are equal; as it is where it is no value.
std::string canonical_text(const Field& field, const std::string& text);

// The value as ranks compare it; "" for Agreement::none.
std::string agreement_text(const Field& field, const Settings& settings);

}  // namespace troika::config
