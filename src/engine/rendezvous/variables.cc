#include "rendezvous/variables.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::rendezvous {
using base::ConfigError;

bool has(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found != environment.end() && !found->second.empty();
}

std::string text_of(const Environment& environment, const std::string& name, const std::string& otherwise) {
  return has(environment, name) ? environment.at(name) : otherwise;
}

int number_of(const Environment& environment, const std::string& name, int otherwise, int low, int high) {
  if (!has(environment, name)) return otherwise;
  std::int64_t value = 0;
  const std::string& text = environment.at(name);
  if (!base::parse_int(text, &value))
    throw ConfigError(base::say("{} is '{}' but must be a whole number", name, text));
  if (value < low || value > high) {
    throw ConfigError(base::say("{} is {} but must be between {} and {}", name, value, low, high));
  }
  return static_cast<int>(value);
}

int required(const Environment& environment, const std::string& name, const std::string& because, int low) {
  if (!has(environment, name)) {
    throw ConfigError(
        base::say("{} is not set though {} is: set both, or neither for a run of one process", name, because));
  }
  return number_of(environment, name, 0, low, most_ranks);
}

}  // namespace troika::rendezvous
