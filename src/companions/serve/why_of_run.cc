#include "serve/why_of_run.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "diagnosis/diagnosis.h"
#include "serve/routes.h"
#include "serve/programs.h"

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

// No object where it fails.
Json said_by_why(const Options& options, const std::string& folder, const Asked& asked) {
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
    if (run_short(why) != ShortEnd::well) return nullptr;
  } catch (const base::ConfigError&) {  // it is not there
    return nullptr;
  }
  const Json found = Json::parse(base::read_file(why.log), nullptr, false);
  if (!found.is_object() || !found.contains("cause") || !found["cause"].is_string()) return nullptr;
  Json answer = {{"cause", found["cause"]}, {"sentence", meaning_of(found["cause"], asked.language)}};
  for (const auto& item : found.items())
    if (item.key() != "cause") answer[item.key()] = item.value();
  return answer;
}

}  // namespace

std::string why_json(const Options& options, const std::string& folder, const Asked& asked) {
  const Json why = said_by_why(options, folder, asked);
  if (why.is_null()) throw Refused{404, base::say("this run has no records yet that could tell why")};
  return json_line(why);
}

std::string found_why(const Options& options, const std::string& folder, const Asked& asked) {
  const Json why = said_by_why(options, folder, asked);
  return why.is_null() || why["cause"] == "none" ? "" : json_line(why);
}

}  // namespace troika::serve
