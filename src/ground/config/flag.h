// The common part of a setting and a flag of a verb: names, help, bounds. The same code reads, checks, prints and completes both
// kinds of row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/language.h"
#include "config/choices.h"

namespace troika::config {

// A text of a row from its literal: a base::Phrase. xgettext finds it by the name of the call that takes it: add, word, rest, ignore,
// unset, usage, paragraph, hint.
struct Literal : base::Phrase {
  constexpr Literal(const char* english = "") : Phrase(english) {}
  constexpr Literal(base::Phrase phrase) : Phrase(phrase) {}
  constexpr bool empty() const { return english().empty(); }
};

// Names have no dashes in front; '-' and '_' are equal in all of them. Texts must outlive the row: literals.
struct Flag {
  std::string_view section;             // of a setting; "": a verb's own flag
  std::string_view name;                // of a setting its YAML key; the flag is --section.name or --name
  Literal help;                         // one sentence
  std::string_view unit;                // "seconds" also accepts 500ms, 30s, 2m, 1h; "bytes" 5GB, 64MiB; others: shown
  std::vector<std::string_view> flags;  // short flags of ours
  std::vector<std::string_view> familiar;   // spellings of other programs
  std::vector<std::string_view> variables;  // environment variables; the first that is not empty counts
  std::vector<std::string_view> words;      // of an enum all values; of a text those that are no path or name
  std::vector<std::pair<std::string_view, std::string_view>> word_spellings;  // other spellings of values
  double min = 0, max = 0;                                                    // of numbers; min == max: no bounds
  Literal unset;           // how help words an empty or underived value
  std::string_view shown;  // what help shows for the value where N, X or TEXT says too little: "FILE"
  std::vector<std::string> (*offered)() = nullptr;  // names that completion offers where they are not `words`
  bool repeated = false;     // each mention adds a value to a list; else lists are comma-separated
  bool is_required = false;  // leaving it out is an error

  std::string key() const;   // "batch.micro_batch_size", or the name
  std::string flag() const;  // "--batch.micro-batch-size"
};

// A row under construction; each call fills one column and gives the row again. Row has `Flag& columns()`.
template <class Row>
class Columns {
 public:
  using Names = std::initializer_list<std::string_view>;
  Row& flags(Names names) { return flag().flags = names, row(); }
  Row& familiar(Names names) { return flag().familiar = names, row(); }
  Row& variables(Names names) { return flag().variables = names, row(); }
  template <class Words>
  Row& words(const Words& words) {
    return flag().words.assign(words.begin(), words.end()), row();
  }
  Row& spelled(std::string_view other, std::string_view word) {
    return flag().word_spellings.emplace_back(other, word), row();
  }
  Row& range(double min, double max) { return flag().min = min, flag().max = max, row(); }
  Row& unit(std::string_view unit) { return flag().unit = unit, row(); }
  Row& unset(Literal meaning) { return flag().unset = meaning, row(); }
  Row& shown(std::string_view value) { return flag().shown = value, row(); }
  Row& offered(std::vector<std::string> (*names)()) { return flag().offered = names, row(); }

 private:
  Row& row() { return static_cast<Row&>(*this); }
  Flag& flag() { return row().columns(); }
};

// '_' becomes '-'.
std::string normalised(std::string_view name);
// Whether two names are equal but for '-' and '_'.
bool same_name(std::string_view a, std::string_view b);
// Whether `name` is one of the flags or familiar spellings of the row.
bool is_spelling_of(const Flag& flag, std::string_view name);
// Whether --name means the row: a spelling, the name of an own flag, or section.name and section.spelling.
bool means(std::string_view name, const Flag& flag);

// A variable whose type is an enum of choices.h or one like it, by the place of its word in Flag::words.
struct WordTarget {
  void* value;
  std::size_t (*read)(const void*);
  void (*write)(void*, std::size_t);
};

// The variable that holds the value of a row. It must live as long as what reads and writes through it.
using Target = std::variant<WordTarget, bool*, std::int64_t*, std::uint64_t*, double*, std::string*,
                            std::optional<std::int64_t>*, std::optional<double>*, std::optional<std::string>*,
                            std::vector<std::int64_t>*, std::vector<double>*, std::vector<std::string>*>;

template <class T>
Target target_of(T& value) {
  if constexpr (std::is_enum_v<T>) {
    return WordTarget{&value, [](const void* at) { return static_cast<std::size_t>(*static_cast<const T*>(at)); },
                      [](void* at, std::size_t place) { *static_cast<T*>(at) = static_cast<T>(place); }};
  } else {
    return &value;
  }
}

// The value as text that set_text reads back: shortest decimal that round-trips, lists as "2,1,1", unset as "null".
std::string get_text(const Flag& flag, const Target& target);

// Writes a value given as text; a repeated row's is added to its list. Returns nothing, or what is wrong, as the end of a
// sentence: "takes a whole number, not 'abc'", "must be at least 1, not 0". On error the variable is unchanged.
std::optional<base::Text> set_text(const Flag& flag, const std::string& text, const Target& target);

// Nothing, or the rule that the present value breaks, as the end of a sentence.
std::optional<base::Text> violation(const Flag& flag, const Target& target);

bool is_truth(const Target& target);  // a variable that is true or false
bool is_text(const Target& target);   // a text or the word of an enum
bool is_list(const Target& target);

// "true", "yes", "on", "1", "y", "t" and their opposites, in any case, as YAML 1.1 and transformers' parser of arguments have
// them; nothing for other text.
std::optional<bool> parse_bool(std::string_view text);

}  // namespace troika::config
