#include "serve/form_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/resolve.h"
#include "planner/plan_arguments.h"
#include "planner/reasons.h"
#include "planner/machines.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

bool computes_on_cores(const config::Environment& environment) {
  const machine::Cluster here = planner::this_machine(planner::machine_file(environment)).cluster;
  return std::all_of(here.hosts.begin(), here.hosts.end(),
                     [](const machine::Host& host) { return host.computes_on_cores(); });
}

// The layout that the run would have; null where it leaves that open.
Json asked_layout(const planner::Question& question, const config::ParsedSettings& parsed, base::Language language) {
  if (parsed.settings.parallel.layout == config::LayoutChoice::automatic) return nullptr;
  const planner::Layout layout = planner::layout_of(config::resolve(question.settings, question.world).settings);
  const auto estimate = planner::estimate_layout(question, layout);
  return estimate ? Json::parse(planner::estimate_json(question, *estimate, language)) : Json(nullptr);
}

Json planned(const Form& form, const Options& options, base::Language language) {
  const config::Environment& environment = options.environment;
  std::vector<std::string> words = words_of_settings(form);
  if (computes_on_cores(environment)) words.insert(words.begin(), {"--nproc", std::to_string(form.processes)});
  const planner::PlanArguments arguments = planner::parse_plan(words, environment);
  const planner::Question question = planner::question_of(arguments, environment, options.vocabulary_of);
  Json asked = asked_layout(question, arguments.parsed, language);
  const planner::Answer answer = planner::search(question);
  Json json = Json::parse(planner::plan_json(question, answer, language));
  json["asked"] = std::move(asked);
  json["nearest"] = answer.best.empty() ? Json(planner::what_is_lacking(question, answer).in(language)) : Json(nullptr);
  return json;
}

}  // namespace

std::string plan_json(const CheckedForm& checked, const Options& options, base::Language language) {
  std::vector<std::string> errors = base::in(checked.errors, language);
  Json json = {{"layouts", Json::array()}, {"asked", nullptr}, {"rejected", 0}, {"nearest", nullptr}};
  if (errors.empty()) {
    try {
      json = planned(checked.form, options, language);
    } catch (const base::ConfigError& error) {
      errors = base::split(error.in(language), '\n');
    } catch (const base::DataError& error) {
      errors = base::split(error.in(language), '\n');
    }
  }
  json["errors"] = errors;
  json["yaml"] = yaml_of(checked.form, options.folder);
  json["command"] = command_of(checked.form, options.folder);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace troika::serve
