#include "config/flag_help.h"

#include <fmt/format.h>

#include <cctype>

#include "base/text.h"
#include "config/fields.h"

namespace troika::config {
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

// What is below the names of a row.
std::string explanation(const Flag& flag, const std::string& default_value) {
  std::string text = fmt::format("      {}", flag.help);
  if (!default_value.empty()) text += fmt::format(" [{}]", default_value);
  const std::string others = also_shown(flag, "", "");
  return text + (others.empty() ? "\n" : "\n      also: " + others + "\n");
}

std::string word_row(const FlagRow& row) {
  const std::string default_value = row.flag->is_required ? "" : default_shown(*row.flag, row.target);
  return fmt::format("  {}\n{}", row.flag->name, explanation(*row.flag, default_value));
}

std::string ignored_rows(const FlagTable& table) {
  std::string text;
  for (const FlagRow& row : table.rows()) {
    if (row.takes == Takes::dropped)
      text += fmt::format("{}: accepted and ignored; {}\n", row.flag->flag(), row.flag->help);
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string value_shown(const Flag& flag, const Target& target) {
  if (!flag.shown.empty()) return std::string(flag.shown);
  if (is_truth(target)) return "true|false";
  if (std::holds_alternative<WordTarget>(target)) return fmt::format("{}", fmt::join(flag.words, "|"));
  const bool is_word = is_text(target) || std::holds_alternative<std::vector<std::string>*>(target);
  return is_word ? "TEXT" : number_shown(flag, target);
}

std::string default_shown(const Flag& flag, const Target& target) {
  const std::string text = get_text(flag, target);
  if (text.empty() || text == "null") return std::string(flag.unset);
  const bool is_number = std::isdigit(static_cast<unsigned char>(text.front())) != 0;
  return flag.unit.empty() || flag.unit == "bytes" || !is_number ? text : fmt::format("{} {}", text, flag.unit);
}

std::string also_shown(const Flag& flag, std::string_view before, std::string_view after) {
  std::vector<std::string> parts;
  if (!flag.familiar.empty()) parts.push_back(listed(flag.familiar, fmt::format("{}--", before), after));
  if (!flag.variables.empty()) parts.push_back("environment " + listed(flag.variables, before, after));
  return base::join(parts, "; ");
}

std::string help_row(const FlagRow& row) {
  const Flag& flag = *row.flag;
  const bool alone = row.takes == Takes::nothing;
  std::string names = listed(flag.flags, "--", "");
  names += (names.empty() ? "" : ", ") + flag.flag();
  if (!alone) names += " " + value_shown(flag, row.target);
  return fmt::format("  {}\n{}", names, explanation(flag, alone ? "" : default_shown(flag, row.target)));
}

std::string help_row_of_help() { return "  -h, --help\n      Print this and end.\n"; }

std::string help_page(const FlagTable& table, std::string_view line) {
  std::string text = fmt::format("{}: {}\n\n", table.command(), line);
  for (const std::string& usage : table.usages()) {
    const bool first = &usage == &table.usages().front();
    text += fmt::format("{}{}{}{}\n", first ? "usage: " : "       ", table.command(), usage.empty() ? "" : " ", usage);
  }
  text += "\n'-' and '_' are equal in names. Defaults are in [ ].\n";
  for (const FlagRow& row : table.words()) text += word_row(row);
  if (table.rest() != nullptr) text += word_row(*table.rest());
  for (const FlagRow& row : table.rows()) {
    if (row.takes != Takes::dropped) text += help_row(row);
  }
  Settings defaults;
  for (const std::string_view key : table.explained()) {
    const Field& field = field_of(key);
    text += help_row({&field, Takes::value, field.target(defaults), nullptr});
  }
  text += help_row_of_help() + ignored_rows(table);
  for (const std::string& paragraph : table.paragraphs()) text += "\n" + paragraph + "\n";
  if (table.takes_settings()) text += "\n`troika help train` lists every setting.\n";
  return text;
}

}  // namespace troika::config
