#include "config/flag_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/fields.h"

namespace troika::config {

bool FlagReading::states(std::string_view key) const {
  return std::find(stated.begin(), stated.end(), key) != stated.end();
}

void FlagReading::finish() const {
  if (!errors.empty()) throw base::ConfigError(base::lines(errors));
}

FlagRow& FlagTable::bind(std::deque<FlagRow>& rows, std::string_view name, Target target, Literal help) {
  Flag& flag = own_.emplace_back();
  flag.name = name;
  flag.help = help;
  const Takes takes = is_truth(target) ? Takes::truth : Takes::value;
  const Flag* const columns = &flag;
  const Take take = [columns, target](const std::string& text, const std::string& shown, FlagReading* reading) {
    if (const auto wrong = set_text(*columns, text, target)) reading->refuse(base::say("{} {}", shown, *wrong));
  };
  return rows.emplace_back(FlagRow{columns, takes, target, take});
}

void FlagTable::rest(std::string_view name, std::vector<std::string>& variable, Literal help) {
  bind(rest_, name, &variable, help);
  own_.back().repeated = true;
}

void FlagTable::ignore(std::string_view name, Literal why) {
  Flag& flag = own_.emplace_back();
  flag.name = name;
  flag.help = why;
  add_row({&flag, Takes::dropped, Target{}, nullptr});
}

const FlagRow* FlagTable::find(std::string_view name) const {
  for (const FlagRow& row : rows_) {
    if (means(name, *row.flag)) return &row;
  }
  for (const FlagRow& row : words_) {
    if (is_spelling_of(*row.flag, name)) return &row;
  }
  return nullptr;
}

void read_variables(const FlagTable& table, const Environment& environment, FlagReading* reading) {
  for (const FlagRow& row : table.rows()) {
    if (reading->states(row.flag->key())) continue;
    for (const std::string_view variable : row.flag->variables) {
      const auto found = environment.find(std::string(variable));
      if (found == environment.end() || found->second.empty()) continue;
      row.take(found->second, fmt::format("{} ({})", row.flag->flag(), variable), reading);
      break;
    }
  }
}

namespace {

template <class Names>
std::string listed(const Names& names, std::string_view before, std::string_view after) {
  std::vector<std::string> parts;
  for (const auto& name : names) parts.push_back(fmt::format("{}{}{}", before, name, after));
  return base::join(parts, ", ");
}

std::string number_shown(const Flag& flag, const Target& target) {
  const bool is_real = std::holds_alternative<double*>(target) ||
                       std::holds_alternative<std::optional<double>*>(target) ||
                       std::holds_alternative<std::vector<double>*>(target);
  const std::string one = is_real ? "X" : "N";
  return is_list(target) && !flag.repeated ? fmt::format("{0},{0},...", one) : one;
}

std::string in(base::Language language, base::Phrase phrase) { return std::string(phrase.in(language)); }

// The help below the names of a row.
std::string explanation(const Flag& flag, const std::string& default_value, base::Language language) {
  std::string text = fmt::format("      {}", flag.help.in(language));
  if (!default_value.empty()) text += fmt::format(" [{}]", default_value);
  const std::string others = also_shown(flag, "", "", language);
  return others.empty() ? text + "\n" : text + "\n      " + base::say("also: {}", others).in(language) + "\n";
}

std::string word_row(const FlagRow& row, base::Language language) {
  const std::string default_value = row.flag->is_required ? "" : default_shown(*row.flag, row.target, language);
  return fmt::format("  {}\n{}", row.flag->name, explanation(*row.flag, default_value, language));
}

std::string ignored_rows(const FlagTable& table, base::Language language) {
  std::string text;
  for (const FlagRow& row : table.rows()) {
    if (row.takes == Takes::dropped)
      text +=
          base::say("{}: accepted and ignored; {}", row.flag->flag(), base::say(row.flag->help)).in(language) + "\n";
  }
  return text.empty() ? text : "\n" + text;
}

// A number with its unit: "256 tokens".
base::Text measured(const std::string& number, std::string_view unit) {
  if (unit == "steps") return base::say("{} steps", number);
  if (unit == "tokens") return base::say("{} tokens", number);
  if (unit == "sequences") return base::say("{} sequences", number);
  if (unit == "minutes") return base::say("{} minutes", number);
  if (unit == "seconds") return base::say("{} seconds", number);
  return base::verbatim(unit.empty() || unit == "bytes" ? number : fmt::format("{} {}", number, unit));
}

}  // namespace

std::string value_shown(const Flag& flag, const Target& target) {
  if (!flag.shown.empty()) return std::string(flag.shown);
  if (is_truth(target)) return "true|false";
  if (std::holds_alternative<WordTarget>(target)) return fmt::format("{}", fmt::join(flag.words, "|"));
  const bool is_word = is_text(target) || std::holds_alternative<std::vector<std::string>*>(target);
  return is_word ? "TEXT" : number_shown(flag, target);
}

std::string default_shown(const Flag& flag, const Target& target, base::Language language) {
  const std::string text = get_text(flag, target);
  if (text.empty() || text == "null") return in(language, flag.unset);
  const bool is_number = std::isdigit(static_cast<unsigned char>(text.front())) != 0;
  return is_number ? measured(text, flag.unit).in(language) : text;
}

std::string also_shown(const Flag& flag, std::string_view before, std::string_view after, base::Language language) {
  std::vector<std::string> parts;
  if (!flag.familiar.empty()) parts.push_back(listed(flag.familiar, fmt::format("{}--", before), after));
  if (!flag.variables.empty())
    parts.push_back(base::say("environment {}", listed(flag.variables, before, after)).in(language));
  return base::join(parts, "; ");
}

std::string help_row(const FlagRow& row, base::Language language) {
  const Flag& flag = *row.flag;
  const bool alone = row.takes == Takes::nothing;
  std::string names = listed(flag.flags, "--", "");
  names += (names.empty() ? "" : ", ") + flag.flag();
  if (!alone) names += " " + value_shown(flag, row.target);
  const std::string default_value = alone ? "" : default_shown(flag, row.target, language);
  return fmt::format("  {}\n{}", names, explanation(flag, default_value, language));
}

const std::vector<CommonFlag>& common_flags() {
  static const std::vector<CommonFlag> rows = {
      {"-h, --help", "", base::Phrase("Print help and exit.")},
      {"--lang", "en|zh|auto",
       base::Phrase(
           "Language of help, messages and reports; auto: Chinese if the locale is, else English. [auto]")}};
  return rows;
}

std::string help_of_common_flags(base::Language language) {
  std::string text;
  for (const CommonFlag& row : common_flags())
    text +=
        fmt::format("  {}{}{}\n      {}\n", row.names, row.value.empty() ? "" : " ", row.value, row.help.in(language));
  return text;
}

std::string help_page(const FlagTable& table, base::Phrase line, base::Language language) {
  std::string text = fmt::format("{}: {}\n\n", table.command(), line.in(language));
  for (const base::Phrase& form : table.usages()) {
    const bool first = &form == &table.usages().front();
    const std::string_view rest = form.in(language);
    text += fmt::format("{} {}{}{}\n", first ? in(language, base::Phrase("usage:")) : "      ", table.command(),
                        rest.empty() ? "" : " ", rest);
  }
  text += "\n" + in(language, base::Phrase("'-' and '_' are equivalent in names. Defaults are in [ ].")) + "\n";
  for (const FlagRow& row : table.words()) text += word_row(row, language);
  if (table.rest() != nullptr) text += word_row(*table.rest(), language);
  for (const FlagRow& row : table.rows()) {
    if (row.takes != Takes::dropped) text += help_row(row, language);
  }
  Settings defaults;
  for (const std::string_view key : table.explained()) {
    const Field& field = field_of(key);
    text += help_row({&field, Takes::value, field.target(defaults), nullptr}, language);
  }
  text += help_of_common_flags(language) + ignored_rows(table, language);
  for (const base::Phrase& paragraph : table.paragraphs()) text += "\n" + in(language, paragraph) + "\n";
  if (table.takes_settings())
    text += "\n" + in(language, base::Phrase("`troika help train` lists every setting.")) + "\n";
  return text;
}

}  // namespace troika::config
