#include "serve/form_routes.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/descriptor.h"
#include "base/text.h"
#include "config/resolve.h"
#include "host/worker.h"
#include "planner/plan_arguments.h"
#include "planner/reasons.h"
#include "planner/machines.h"
#include "serve/logs.h"
#include "serve/programs.h"

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

constexpr std::size_t most_sample_bytes = 64 << 10;
constexpr const char* samples_shown = "3";

// Lines stay lines.
std::string readable(const std::string& text) {
  std::string lines;
  for (const std::string& line : base::split(text.substr(0, most_sample_bytes), '\n'))
    lines += shown_line(line, most_sample_bytes) + "\n";
  return lines;
}

constexpr double sample_deadline = 60;  // seconds

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

std::string PlanQueue::make(const std::function<std::string()>& plan) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::int64_t mine = ++newest_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !busy_ || newest_ != mine; });
    if (newest_ != mine) throw Refused{503, base::say("another form was sent while this one waited to be planned")};
    busy_ = true;
  }
  const base::ScopeExit leave([this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    busy_ = false;
    changed_.notify_all();
  });
  return plan();
}

std::string data_sample(const Form& form, const Options& options, const Asked& asked, double deadline_seconds) {
  const ScratchFolder folder;
  ShortProgram inspect;
  inspect.words = {options.program, "data", "inspect", "--samples", samples_shown, "--color", "never"};
  for (std::string& word : host::language_flag(asked.language)) inspect.words.push_back(std::move(word));
  for (std::string& word : words_of_settings(form)) inspect.words.push_back(std::move(word));
  inspect.words.insert(inspect.words.end(), {"--train.out", folder.file("run")});
  inspect.environment = environment_of_runs(options.environment);
  inspect.folder = options.root;
  inspect.log = folder.file("log");
  inspect.deadline_seconds = deadline_seconds;
  inspect.abandoned = asked.abandoned;
  const ShortEnd end = run_short(inspect);
  const std::string text = base::file_exists(inspect.log) ? readable(base::read_file(inspect.log)) : "";
  if (end == ShortEnd::well) return text;
  throw base::DataError(end == ShortEnd::too_late ? base::say("the data were not read within {:.0f} s", deadline_seconds)
                                                  : base::say("the data could not be read; the program printed:\n{}", text));
}

std::vector<Route> form_routes(const RouteContext& context) {
  const Options& options = context.options;
  const auto plans = std::make_shared<PlanQueue>();
  return {{http::Method::get, "/api/settings", Right::see,
           [](const Asked&) { return json_response(200, settings_json()); }},
          {http::Method::get, "/api/choices", Right::see,
           [&options](const Asked& asked) {
             return json_response(200, to_json(choices_below(options.root, asked.language)));
           }},
          {http::Method::post, "/api/form", Right::change,
           [](const Asked& asked) { return json_response(200, form_of_file(asked.body, asked.language)); }},
          {http::Method::post, "/api/data", Right::change,
           [&options](const Asked& asked) {
             const CheckedForm checked = checked_form(asked.body, options);
             if (!checked.errors.empty()) throw Refused{400, base::lines(checked.errors)};
             const std::string sample = data_sample(checked.form, options, asked, sample_deadline);
             return json_response(200, json_line(Json{{"text", sample}}));
           },
           ThreadPool::waits},
          {http::Method::post, "/api/plan", Right::change, [&options, plans](const Asked& asked) {
             const CheckedForm checked = checked_form(asked.body, options);
             return json_response(200, plans->make([&] { return plan_json(checked, options, asked.language); }));
           },
           ThreadPool::waits}};
}

}  // namespace troika::serve
