#include "commands/own_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace troika::commands {

bool take_word(Words& words, const std::string& word) {
  const auto end = std::remove(words.begin(), words.end(), word);
  const bool found = end != words.end();
  words.erase(end, words.end());
  return found;
}

std::optional<std::string> take_value(Words& words, const std::string& flag) {
  std::optional<std::string> value;
  for (auto word = words.begin(); word != words.end();) {
    if (word->rfind(flag + "=", 0) == 0) {
      value = word->substr(flag.size() + 1);
      word = words.erase(word);
    } else if (*word == flag) {
      if (word + 1 == words.end() || (word + 1)->rfind("--", 0) == 0) throw base::ConfigError(flag + " needs a value");
      value = *(word + 1);
      word = words.erase(word, word + 2);
    } else {
      ++word;
    }
  }
  return value;
}

double take_number(Words& words, const std::string& flag, double otherwise, double low, double high) {
  const auto text = take_value(words, flag);
  double value = otherwise;
  if (text && (!base::parse_double(*text, &value) || value < low || value > high))
    throw base::ConfigError(fmt::format("{} is '{}' but must be a number from {:g} to {:g}", flag, *text, low, high));
  return value;
}

}  // namespace troika::commands
