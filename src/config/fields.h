// The one table of settings: each row names a member of Settings once. Flags, YAML, help, printing, the documentation,
// the check of single values and the agreement between ranks all walk this table.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/settings.h"

namespace troika::config {

// How to reach one member of type T.
template <class T>
struct Access {
  T& (*write)(Settings&);
  const T& (*read)(const Settings&);
};

using AnyAccess =
    std::variant<Access<bool>, Access<std::int64_t>, Access<std::uint64_t>, Access<double>, Access<std::string>,
                 Access<std::optional<std::int64_t>>, Access<std::vector<std::int64_t>>, Access<std::vector<double>>>;

// What ranks compare before they form groups.
enum class Agreement {
  value,         // the whole value
  word_or_path,  // one of the words below, else only "a path": paths differ between hosts
  kind,          // the part before ':' ("cuda" of "cuda:1")
  none,          // each rank may have its own
};

// One row. Names are stored with '-' in flags and '_' in section.name; look-ups treat both as equal.
struct Field {
  std::string_view section;
  std::string_view name;  // the YAML key; the flag is --section.name with '-'
  AnyAccess access;
  std::string_view help;                    // one sentence
  std::string_view unit;                    // "" for plain numbers and words; "seconds" also accepts 500ms, 30s, 2m, 1h
  std::vector<std::string_view> flags;      // short flags of ours, without dashes
  std::vector<std::string_view> familiar;   // spellings of other programs, without dashes
  std::vector<std::string_view> variables;  // environment variables
  std::vector<std::string_view> words;      // allowed values of a text; empty: any
  std::vector<std::pair<std::string_view, std::string_view>> word_spellings;  // other spellings of values
  double min = 0, max = 0;                                                    // of numbers; min == max: no bounds
  std::string_view unset;  // how help words an empty or underived value
  Agreement agreement = Agreement::value;

  std::string key() const;   // "batch.micro_batch_size"
  std::string flag() const;  // "--batch.micro-batch-size"
  bool is_list() const;      // several values, parted by commas
};

// All rows, section by section in the order of Settings. Built on first use, then constant; threads: safe.
const std::vector<Field>& fields();

// The row that a flag or flat key means ("steps", "train.steps", "train_steps", "max-steps"), or nullptr.
const Field* find_field(std::string_view name);
// The row of a YAML key inside its section (its own name or a familiar spelling), or nullptr.
const Field* find_field(std::string_view section, std::string_view name);
// The row of "section.name" in the table's own spelling; BugError when there is none.
const Field& field_of(std::string_view key);

// '_' becomes '-'.
std::string normalised(std::string_view name);

// The value as text that set_text reads back: shortest decimal that round-trips, lists as "2,1,1", unset as "null".
std::string get_text(const Field& field, const Settings& settings);

// `text` as get_text would print the value, so that 1e-4 and 0.0001 are equal; as it is where it is no value.
std::string canonical_text(const Field& field, const std::string& text);

// Writes a value given as text. Returns "" or what is wrong, as the end of a sentence: "takes a whole number, not
// 'abc'". On error the settings are unchanged.
std::string set_text(const Field& field, const std::string& text, Settings* settings);

// "" or the rule that the present value breaks, as the end of a sentence: "must be at least 1, not 0".
std::string violation(const Field& field, const Settings& settings);

// The value as ranks compare it; "" for Agreement::none.
std::string agreement_text(const Field& field, const Settings& settings);

// "true", "yes", "on", "1" and their opposites, in any case; nothing for other text.
std::optional<bool> parse_bool(std::string_view text);

}  // namespace troika::config
