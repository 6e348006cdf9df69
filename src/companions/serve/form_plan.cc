#include "serve/form_plan.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/resolve.h"
#include "planner/plan_arguments.h"
#include "planner/plan_report.h"
#include "planner/reasons.h"
#include "planner/this_machine.h"
#include "serve/routes.h"

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
  const planner::Layout layout = planner::layout_of(config::resolve(question.settings, question.world));
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
  return json_line(json);
}

namespace {

// Gives the turn to the next one, however the plan ends.
template <class Leave>
struct AtEndOfTurn {
  Leave leave;
  ~AtEndOfTurn() { leave(); }
};

}  // namespace

std::string PlanQueue::make(const std::function<std::string()>& plan) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::int64_t mine = ++newest_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !busy_ || newest_ != mine; });
    if (newest_ != mine) throw Refused{503, base::say("another form was sent while this one waited to be planned")};
    busy_ = true;
  }
  const auto leave = [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    busy_ = false;
    changed_.notify_all();
  };
  const AtEndOfTurn<decltype(leave)> turn{leave};
  return plan();
}

}  // namespace troika::serve
