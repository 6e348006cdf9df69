#include "serve/form_file.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/say.h"
#include "config/layers.h"
#include "serve/form.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

// A run that goes on in its own folder is not made from a form.
bool stays_out(const std::string& key) { return key == "train.resume" || why_not_of_a_page(key); }

}  // namespace

std::string form_of_file(const std::string& body, base::Language language) {
  const Json asked = Json::parse(body, nullptr, false);
  if (!asked.is_object() || !asked.contains("yaml") || !asked["yaml"].is_string())
    throw Refused{400, base::say("the body is no JSON object with the text of the file as \"yaml\"")};
  config::Layer layer = config::read_yaml(asked["yaml"].get<std::string>(), base::say("the file"));
  std::map<const config::Field*, std::string> values;
  for (const config::Assignment& assignment : layer.assignments) {
    config::Settings scratch;
    const auto wrong = config::set_text(*assignment.field, assignment.value, &scratch);
    if (!wrong)
      values[assignment.field] = config::get_text(*assignment.field, scratch);
    else
      layer.errors.push_back(base::say("{} {}", assignment.field->key(), *wrong));
  }
  Json settings = Json::object();
  for (const config::Field& field : config::fields())
    if (const auto value = values.find(&field); value != values.end() && !stays_out(field.key()))
      settings[field.key()] = value->second;
  const Json answer = {{"settings", std::move(settings)},
                       {"errors", base::in(layer.errors, language)},
                       {"notes", base::in(layer.notes, language)}};
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace troika::serve
