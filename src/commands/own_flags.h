// Flags of a verb that stand among the settings of train.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace troika::commands {

using Words = std::vector<std::string>;

bool take_word(Words& words, const std::string& word);  // removes it; whether it was there
// Removes `--name VALUE` or `--name=VALUE`; the last one counts. ConfigError when the value is missing.
std::optional<std::string> take_value(Words& words, const std::string& flag);
// The same for a number in [low, high]; `otherwise` when it is not there. ConfigError.
double take_number(Words& words, const std::string& flag, double otherwise, double low, double high);

}  // namespace troika::commands
