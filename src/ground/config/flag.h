// What a setting and a flag of a verb have in common: names, help, bounds. Both kinds of row are read, checked, printed
// and completed by the same code.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/language.h"

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

}  // namespace troika::config
