#include "serve/why_of_run.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "diagnosis/causes.h"
#include "serve/routes.h"
#include "serve/short_program.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string meaning_of(const Json& cause, base::Language language) {
  try {
    return std::string(diagnosis::sentence_of(cause.get<std::string>()).in(language));
  } catch (const base::BugError&) {  // of another version
    return "";
  }
}

// "" where it fails.
std::string said_by_why(const Options& options, const std::string& folder, const Asked& asked) {
  const ScratchFolder scratch;
  ShortProgram why;
  why.words = {options.program, "why",    folder,
               "--json",        "--lang", asked.language == base::Language::chinese ? "zh" : "en"};
  why.environment = options.environment;
  why.log = scratch.file("said");
  why.errors = ShortProgram::Errors::dropped;
  why.deadline_seconds = 15;
  why.abandoned = asked.abandoned;
  try {
    if (run_short(why) == ShortEnd::well) return base::read_file(why.log);
  } catch (const base::ConfigError&) {  // it is not there
  }
  return "";
}

}  // namespace

std::string why_json(const Options& options, const std::string& folder, const Asked& asked) {
  const Json found = Json::parse(said_by_why(options, folder, asked), nullptr, false);
  if (!found.is_object() || !found.contains("cause") || !found["cause"].is_string())
    throw Refused{404, base::say("this run has no records yet that could tell why")};
  Json answer = {{"cause", found["cause"]}, {"sentence", meaning_of(found["cause"], asked.language)}};
  for (const auto& item : found.items())
    if (item.key() != "cause") answer[item.key()] = item.value();
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace troika::serve
