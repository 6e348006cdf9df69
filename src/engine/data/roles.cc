#include "data/roles.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::data {
namespace {

// The roles that current templates know.
const std::vector<std::string>& known_roles() {
  static const std::vector<std::string> roles = {"system", "developer", "user", "assistant", "tool", "ipython"};
  return roles;
}

bool is_known(const std::string& word) {
  return std::find(known_roles().begin(), known_roles().end(), word) != known_roles().end();
}

std::string in_small_letters(std::string word) {
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

// Words that are spelled like none of the roles.
std::string nearest_role(const std::string& given) {
  static constexpr std::array<std::pair<const char*, const char*>, 10> others = {{{"model", "assistant"},
                                                                                  {"bot", "assistant"},
                                                                                  {"chatbot", "assistant"},
                                                                                  {"gpt", "assistant"},
                                                                                  {"chatgpt", "assistant"},
                                                                                  {"ai", "assistant"},
                                                                                  {"agent", "assistant"},
                                                                                  {"human", "user"},
                                                                                  {"prompter", "user"},
                                                                                  {"customer", "user"}}};
  const std::string word = in_small_letters(base::trim(given));
  for (const auto& [other, role] : others)
    if (word == other) return role;
  return base::nearest(word, known_roles());
}

}  // namespace

std::string role_of(const std::string& word, const RecordShape& shape) {
  const Tags& tags = shape.tags;
  if (word == tags.user || word == "user") return "user";
  if (word == tags.assistant || word == "assistant" || (!tags.function.empty() && word == tags.function))
    return "assistant";
  if (word == tags.observation || word == "tool") return "tool";
  if (word == tags.system) return "system";
  if (shape.format != Format::messages) return "";
  if (word == "function" || word == "observation") return "tool";
  return is_known(word) ? word : "";
}

void refuse_role(const std::string& word, const std::string& name, const RecordShape& shape, base::Origin origin) {
  const Tags& tags = shape.tags;
  const std::string shown = base::printable(word, 60);
  if (shape.format != Format::messages)
    throw base::DataError(base::say("{}: '{}' is '{}', but may be {}, {}, {}, {} or {}", origin, name, shown, tags.user, tags.assistant, tags.system,
                                    tags.observation, tags.function));
  const std::string near = nearest_role(word);
  throw base::DataError(base::say("{}: '{}' is '{}', which is no role{}: known are {}; tags of dataset_info.json give the roles other names", origin, name, shown,
                                  near.empty() ? base::Text{} : base::say(" (nearest: {})", near),
                                  base::join(known_roles(), ", ")));
}

}  // namespace troika::data
