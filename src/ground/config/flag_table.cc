#include "config/flag_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/say.h"

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

}  // namespace troika::config
