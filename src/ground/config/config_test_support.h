// Shared by the tests of this module.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "config/config.h"
#include "config/resolve.h"

namespace troika::config {

// The text of the ConfigError that `act` throws; a test failure text when it throws none.
template <class Act>
std::string config_error(Act act) {
  try {
    act();
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no ConfigError was thrown";
}

inline Settings parsed(const std::vector<std::string>& arguments, const Environment& environment = {}) {
  return parse_settings(arguments, environment).settings;
}

inline std::string parse_error(const std::vector<std::string>& arguments, const Environment& environment = {}) {
  return config_error([&] { parse_settings(arguments, environment); });
}

inline Resolved resolved(const std::vector<std::string>& arguments, std::int64_t world,
                         const Environment& environment = {}) {
  return resolve(parsed(arguments, environment), world);
}

inline std::string resolve_error(const std::vector<std::string>& arguments, std::int64_t world,
                                 const Environment& environment = {}) {
  return config_error([&] { resolve(parsed(arguments, environment), world); });
}

inline std::vector<std::string> in_english(const std::vector<base::Text>& texts) {
  return base::in(texts, base::Language::english);
}

// A file in the test's temporary folder; the path.
std::string temporary_file(const std::string& name, const std::string& content);

}  // namespace troika::config
