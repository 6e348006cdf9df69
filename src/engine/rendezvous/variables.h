// Reading the environment that a launcher left. A variable that is set to nothing counts as not set.
#pragma once

#include <map>
#include <string>

namespace troika::rendezvous {

using Environment = std::map<std::string, std::string>;

inline constexpr int most_ranks = 1 << 24;

bool has(const Environment& environment, const std::string& name);
std::string text_of(const Environment& environment, const std::string& name, const std::string& otherwise);

// The variable as a number in [low, high]; `otherwise` when it is not set. ConfigError names the variable.
int number_of(const Environment& environment, const std::string& name, int otherwise, int low, int high);

// The variable as a number from `low` to most_ranks; ConfigError where it is missing though `because` is set.
int required(const Environment& environment, const std::string& name, const std::string& because, int low);

}  // namespace troika::rendezvous
