#include "commands/serve/why_of_run.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/say.h"
#include "commands/serve/refusal_texts.h"
#include "commands/serve/routes.h"
#include "diagnosis/causes.h"
#include "host/subprocess.h"

namespace troika::commands::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string meaning_of(const Json& cause, base::Language language) {
  try {
    return std::string(diagnosis::sentence_of(cause.get<std::string>()).in(language));
  } catch (const base::BugError&) {  // of another version
    return "";
  }
}

}  // namespace

std::string why_json(const std::string& program, const std::string& folder, const config::Environment& environment,
                     base::Language language) {
  constexpr double patience_seconds = 15;
  const std::string lang = language == base::Language::chinese ? "zh" : "en";
  const std::string said =
      host::output_of({program, "why", folder, "--json", "--lang", lang}, environment, patience_seconds);
  const Json found = Json::parse(said, nullptr, false);
  if (!found.is_object() || !found.contains("cause") || !found["cause"].is_string())
    throw Refused{404, base::say(refusal_texts.no_why)};
  Json answer = {{"cause", found["cause"]}, {"sentence", meaning_of(found["cause"], language)}};
  for (const auto& item : found.items())
    if (item.key() != "cause") answer[item.key()] = item.value();
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace troika::commands::serve
