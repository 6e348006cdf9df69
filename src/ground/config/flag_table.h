// The flags of a command line as a table. A verb writes down its rows, each bound to a variable; parsing, help and
// completion walk them. The settings of train are such a table too (command_line.h), and a verb that takes both reads
// with both.
//
//   FlagTable table("troika chat");
//   table.word("PATH", a.path, "A model folder, a run or a checkpoint.").familiar({"model.path"}).required();
//   table.add("top-k", a.top_k, "Only the k likeliest tokens; 0: all.").range(0, 1e7);
//   table.add("stats", a.stats, "Print tokens per second on stderr.").alone();
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/language.h"
#include "config/flag.h"

namespace troika::config {

using Environment = std::map<std::string, std::string>;  // captured once in main.cc

// The contents of a command line besides values.
struct FlagReading {
  struct Given {
    std::string key;                 // of its row; "": a word in no row of its own
    std::vector<std::string> words;  // as typed
  };
  bool help = false;                 // --help or -h; then values and errors count for nothing
  std::vector<std::string> stated;   // keys of the rows that it states
  std::vector<std::string> unknown;  // flags that no table has, as typed, without their values
  std::vector<Given> given;          // all that is known, in order, with its words
  std::vector<base::Text> notes;     // one sentence each, never with the value of an ignored flag
  std::vector<base::Text> errors;    // one sentence each, never with the value of an unknown flag
  std::string behind_truth;          // while a word is taken: the flag right before it, where that takes true or false

  bool states(std::string_view key) const;
  void refuse(base::Text error) { errors.push_back(std::move(error)); }
  void finish() const;  // throws one ConfigError with all errors, a line each; does nothing without any
};

// The value that a flag takes where its name is not followed by '='.
enum class Takes {
  value,     // the next word, unless that begins with two dashes
  any_word,  // the next word, whatever it is
  truth,     // the next word where it says true or false, else nothing, which means true
  nothing,   // nothing, which means true
  dropped,   // the next word unless that is a known flag; it is neither kept nor printed
};

// Takes the text of a flag (shown: as typed, or the name of the word's row) to where it belongs.
using Take = std::function<void(const std::string& text, const std::string& shown, FlagReading* reading)>;

struct FlagRow {
  const Flag* flag;
  Takes takes;
  Target target;  // for help; values go through `take`
  Take take;
};

class FlagTable {
 public:
  class Own;  // an own row under construction

  explicit FlagTable(std::string command) : command_(std::move(command)) {}  // "troika chat"
  FlagTable(FlagTable&&) = default;
  FlagTable& operator=(FlagTable&&) = default;

  // A flag whose value goes into `variable`, which must outlive the table; help shows its value of now as the default.
  template <class T>
  Own add(std::string_view name, T& variable, Literal help);

  // A word without a flag, in the order of these calls; a list takes all that remain. Its flags() and familiar() name it too.
  template <class T>
  Own word(std::string_view name, T& variable, Literal help);

  // All from the first word that is no flag, or from behind `--`, goes into `variable`.
  void rest(std::string_view name, std::vector<std::string>& variable, Literal help);

  // A flag of another program that is accepted with a note; why: the end of "--name is ignored: ...".
  void ignore(std::string_view name, Literal why);

  // A row whose Flag is elsewhere and outlives the table.
  void add_row(FlagRow row) { rows_.push_back(std::move(row)); }
  // Takes every word that is no flag. A word name=value whose name is known counts as a flag.
  void on_word(Take take) { on_word_ = std::move(take); }

  // Text of the help page: "PATH [flags]"; a paragraph below the flags; a sentence behind the error about an unknown flag.
  void usage(Literal text) { usages_.push_back(text); }
  void paragraph(Literal text) { paragraphs_.push_back(text); }
  void hint(Literal text) { hint_ = text; }
  // The command takes the settings of train as well; these of them are explained on its page.
  void settings(std::vector<std::string_view> explained) { takes_settings_ = true, explained_ = std::move(explained); }
  // Keeps the owner of the rows' variables alive.
  void keep(std::shared_ptr<void> storage) { storage_ = std::move(storage); }

  const std::string& command() const { return command_; }
  const std::vector<Literal>& usages() const { return usages_; }
  const std::vector<Literal>& paragraphs() const { return paragraphs_; }
  const Literal& hint() const { return hint_; }
  bool takes_settings() const { return takes_settings_; }
  const std::vector<std::string_view>& explained() const { return explained_; }
  const std::deque<FlagRow>& rows() const { return rows_; }    // flags, ignored ones too
  const std::deque<FlagRow>& words() const { return words_; }  // in their order, without the rest
  const FlagRow* rest() const { return rest_.empty() ? nullptr : &rest_.front(); }
  const Take& on_word() const { return on_word_; }

  const FlagRow* find(std::string_view name) const;  // the row that --name means, or nullptr

 private:
  FlagRow& bind(std::deque<FlagRow>& rows, std::string_view name, Target target, Literal help);

  std::string command_;
  Literal hint_;
  std::vector<Literal> usages_, paragraphs_;
  bool takes_settings_ = false;
  std::vector<std::string_view> explained_;
  std::deque<Flag> own_;  // a deque: rows point into it
  std::deque<FlagRow> rows_, words_, rest_;
  Take on_word_;
  std::shared_ptr<void> storage_;
};

class FlagTable::Own : public Columns<Own> {
 public:
  Own(Flag* flag, FlagRow* row) : flag_(flag), row_(row) {}
  Flag& columns() { return *flag_; }

  Own& required() { return flag_->is_required = true, *this; }
  Own& repeated() { return flag_->repeated = true, *this; }
  Own& any_word() { return row_->takes = Takes::any_word, *this; }  // for texts that may begin with dashes
  Own& taken_by(Take take) { return row_->take = std::move(take), *this; }
  Own& alone() { return row_->takes = Takes::nothing, *this; }  // true by standing there

 private:
  Flag* flag_;
  FlagRow* row_;
};

template <class T>
FlagTable::Own FlagTable::add(std::string_view name, T& variable, Literal help) {
  FlagRow& row = bind(rows_, name, target_of(variable), help);
  Own own(&own_.back(), &row);
  if constexpr (std::is_enum_v<T>) own.words(words_of(T{}));
  return own;
}

template <class T>
FlagTable::Own FlagTable::word(std::string_view name, T& variable, Literal help) {
  FlagRow& row = bind(words_, name, target_of(variable), help);
  own_.back().repeated = is_list(row.target);
  return {&own_.back(), &row};
}

// Reads `words` with the tables: a flag belongs to the first that knows it, words to the first that takes words.
// `--name value`, `--name=value`; '-' and '_' are equal in names; `--` ends the flags. Every error is noted and reading
// continues. Rows that are required and not stated are errors.
FlagReading read_flags(const std::vector<const FlagTable*>& tables, const std::vector<std::string>& words);

// Gives the rows that `reading` does not state the values of their environment variables; an empty one counts as absent.
void read_variables(const FlagTable& table, const Environment& environment, FlagReading* reading);

// `words` with "..." for each value that read_flags would drop (passwords and tokens that other programs take): of flags with FlagTable::ignore. They mean the same.
std::vector<std::string> without_hidden_values(const std::vector<const FlagTable*>& tables,
                                               std::vector<std::string> words);

// Rows of settings and flags as text for people: help pages and the columns of documentation.
std::string value_shown(const Flag& flag, const Target& target);  // "N", "true|false", "gpipe|1f1b", "FILE"
// "256 tokens"; Flag::unset for an empty value
std::string default_shown(const Flag& flag, const Target& target, base::Language language);

// The familiar spellings and variables: "--depth; environment NUM_LAYERS", each between `before` and `after`.
std::string also_shown(const Flag& flag, std::string_view before, std::string_view after, base::Language language);

// "  --steps N\n      Optimizer steps. [0 steps]\n      also: --max-steps\n"
std::string help_row(const FlagRow& row, base::Language language);

// A flag that every verb has beside its table: --help and --lang, which are read before the flags of a verb.
struct CommonFlag {
  std::string_view names;  // "-h, --help"
  std::string_view value;  // "en|zh|auto"; "": none
  base::Phrase help;
};
const std::vector<CommonFlag>& common_flags();
std::string help_of_common_flags(base::Language language);

// The page of --help; `line`: what the command does. One that takes settings explains those that it names and points to
// the others.
std::string help_page(const FlagTable& table, base::Phrase line, base::Language language);

}  // namespace troika::config
