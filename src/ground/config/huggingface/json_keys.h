// Values of a JSON object from outside: each read is checked; an invalid value adds a sentence to the list of
// problems and the fallback is returned, so that all problems are reported at once. null counts as absent.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/fields.h"

namespace troika::config {

// Refers to the object, which must outlive it.
class JsonKeys {
 public:
  // `where` is before the keys in sentences: "rope_scaling." or "".
  JsonKeys(const nlohmann::json& object, std::string where, std::vector<base::Text>* problems);

  bool states(const std::string& key) const;  // null, too
  // nullptr when absent or null.
  const nlohmann::json* find(const std::string& key) const;

  // Within the bounds of the setting `field`, whole numbers also at least 1.
  std::int64_t whole(const std::string& key, const Field& field, std::int64_t fallback);
  double number(const std::string& key, const Field& field, double fallback);
  bool truth(const std::string& key, bool fallback);
  std::string word(const std::string& key, const std::string& fallback);

  // Absent or one of `accepted`, an array; else a problem.
  void allow(const std::string& key, const nlohmann::json& accepted);
  void fail(const std::string& key, const base::Text& what);  // "hidden_size is 0: ..."; `what` is behind the colon

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::vector<base::Text>* problems_;
};

// Compact, at most 60 bytes.
std::string shown(const nlohmann::json& value);

}  // namespace troika::config
