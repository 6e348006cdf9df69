// How a diagnosis is shown and written.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/say.h"
#include "base/terminal_text.h"
#include "diagnosis/diagnosis.h"

namespace troika::diagnosis {

std::string describe(const Diagnosis& diagnosis, base::Language language) {
  std::string text =
      fmt::format("{}: {} ({})\n", base::Phrase("cause").in(language), diagnosis.sentence.in(language), diagnosis.cause);
  for (const Text& evidence : diagnosis.evidence) text += fmt::format("  - {}\n", evidence.in(language));
  if (diagnosis.advice.empty()) return text;
  text += fmt::format("{}:\n", base::Phrase("what to change").in(language));
  for (const Advice& advice : diagnosis.advice)
    text += fmt::format("  {}\n      {}\n", advice.flag.in(language), advice.reason.in(language));
  return text;
}

std::string to_json(const Diagnosis& diagnosis, base::Language language) {
  nlohmann::ordered_json object;
  object["cause"] = diagnosis.cause;
  object["evidence"] = nlohmann::ordered_json::array();
  for (const Text& evidence : diagnosis.evidence) object["evidence"].push_back(evidence.in(language));
  object["advice"] = nlohmann::ordered_json::array();
  for (const Advice& advice : diagnosis.advice)
    object["advice"].push_back({{"flag", advice.flag.in(language)}, {"reason", advice.reason.in(language)}});
  return base::printable_json(object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
}

}  // namespace troika::diagnosis
