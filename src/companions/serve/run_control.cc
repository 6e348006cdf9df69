#include "serve/run_control.h"

#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/descriptor.h"
#include "host/worker.h"
#include "serve/checkpoints.h"
#include "serve/programs.h"
#include "serve/run_config.h"

namespace troika::serve {
namespace {

constexpr const char* launch_log = "/launch.log";
constexpr const char* launch_file = "/launch.yaml";

bool is_at_work(const std::string& folder) {
  return leader_of(folder, last_events(folder)).has_value() || has_writer(folder + launch_log);
}

// Refuses a folder that is taken: a run that has come to nothing may be started again.
void refuse_taken(const std::string& folder, const std::string& name) {
  const bool usable = kind_of(folder) == FileKind::folder && (is_served_run(folder) || base::list_directory(folder).empty());
  if (!usable) throw Refused{409, base::say("'{}' already exists and is not a run: choose another name", name)};
  if (is_at_work(folder)) throw Refused{409, base::say("'{}' is already running", name)};
  if (base::file_exists(folder + "/metrics.jsonl") || !complete_steps(folder).empty())
    throw Refused{409, base::say("the run '{}' exists and has trained: resume it, or choose another name", name)};
}

// Whether it was made.
bool take_folder(const std::string& folder, const std::string& name) {
  if (::mkdir(folder.c_str(), 0755) == 0) return true;
  if (errno != EEXIST) base::make_directories(folder);  // for its error
  refuse_taken(folder, name);
  return false;
}

// Where the program has left nothing, the name is free again.
void leave_folder(const std::string& folder) {
  const std::vector<std::string> names = base::list_directory(folder);
  const bool only_ours = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return "/" + name == launch_log || "/" + name == launch_file;
  });
  if (!only_ours) return;
  ::unlink((folder + launch_log).c_str());
  ::unlink((folder + launch_file).c_str());
  ::rmdir(folder.c_str());
}

std::vector<std::string> words_of_start(const Form& form, const std::string& folder) {
  std::vector<std::string> words = {"launch", "--nproc-per-node", std::to_string(form.processes), "--", "train"};
  for (std::string& word : words_of_settings(form)) words.push_back(std::move(word));
  words.insert(words.end(), {"--train.out", folder});
  return words;
}

std::vector<std::string> flags_to_resume_with(const ResumeWords& resume, const std::string& name,
                                              const std::string& root) {
  try {
    return flags_of_resumed(resume.settings, resume.works_in, root);
  } catch (const base::ConfigError& error) {
    throw Refused{409, base::say("this page does not resume '{}': in its {}, {}. If you trust that folder, type: {}", name, resume.settings.name, base::text_of(error), line_of(resume))};
  }
}

// Starts it and throws Refused where it ends with an error meanwhile, after `on_error` has heard its exit code.
void start_or_refuse(const RouteContext& context, std::vector<std::string> words, const std::string& folder, const Asked& asked,
                     double patience_seconds, int status, const std::function<void(int)>& on_error = {}) {
  words.insert(words.begin(), context.options.program);
  const std::vector<std::string> language = host::language_flag(asked.language);
  words.insert(words.begin() + 2, language.begin(), language.end());
  const DetachedStart start = start_detached(
      {words, environment_of_runs(context.options.environment), context.options.root, folder + launch_log}, patience_seconds);
  if (!start.ended || start.exit_code == 0) return;
  const std::string why = found_why(context.options, folder, asked);
  if (on_error) on_error(start.exit_code);
  throw Refused{status, base::say("it ended at once, with exit code {}:\n{}", start.exit_code, start.last_words), why};
}

constexpr double apart_seconds = 0.5;  // what comes sooner counts as the same signal (launch/attempt.cc)

using Json = nlohmann::ordered_json;

Json object_in(const Asked& asked) {
  Json body = Json::parse(asked.body, nullptr, false);
  if (!body.is_object()) throw Refused{400, base::say("the body is not a JSON object")};
  return body;
}

// Nothing: the newest checkpoint.
std::optional<std::int64_t> step_in(const Asked& asked) {
  const Json body = object_in(asked);
  const auto step = body.find("step");
  if (step == body.end() || step->is_null()) return std::nullopt;
  if (!step->is_number_integer()) throw Refused{400, base::say("the step must be a whole number, or null for the newest checkpoint")};
  return step->get<std::int64_t>();
}

StopHow how_in(const Asked& asked) {
  const Json body = object_in(asked);
  const auto how = body.find("how");
  if (how != body.end() && *how == "save") return StopHow::save;
  if (how != body.end() && *how == "now") return StopHow::now;
  throw Refused{400, base::say("say how: {{\"how\": \"save\"}} or {{\"how\": \"now\"}}")};
}

// The actions on runs. One start at a time, so that a name or a folder is taken once.
struct Controls {
  explicit Controls(const RouteContext& of) : context(of) {}

  const RouteContext context;
  std::mutex starting;
  RunStops stops;

  http::Response start(const Asked& asked) {
    const CheckedForm checked = checked_form(asked.body, context.options);
    if (!checked.errors.empty()) throw Refused{400, base::lines(checked.errors)};
    const std::lock_guard<std::mutex> guard(starting);
    return json_response(201, json_line({{"name", start_run(context, checked.form, asked)}}));
  }

  http::Response stop(const Asked& asked) {
    stops.stop(context, asked.name("run"), how_in(asked));
    return json_response(202, "{}\n");
  }

  http::Response resume(const Asked& asked) {
    const std::optional<std::int64_t> step = step_in(asked);
    const std::lock_guard<std::mutex> guard(starting);
    resume_run(context, asked.name("run"), step, asked);
    return json_response(202, "{}\n");
  }

  http::Response export_step(const Asked& asked) {
    const std::optional<std::int64_t> step = step_in(asked);
    const std::lock_guard<std::mutex> guard(starting);
    return json_response(202, json_line({{"folder", export_checkpoint(context, asked.name("run"), step, asked.language)}}));
  }
};

}  // namespace

std::string start_run(const RouteContext& context, const Form& form, const Asked& asked, double patience_seconds) {
  const Options& options = context.options;
  if (const auto fault = fault_of_run_name(form.name)) throw Refused{400, *fault};
  if (settled(form, environment_of_runs(options.environment)).settings.data.train.empty()) throw Refused{400, base::say("data.train is not set: choose what to train on")};
  if (is_served_run(options.folder)) throw Refused{409, base::say("the served folder is itself a run: serve the folder above it to start others")};
  const std::string folder = options.folder + "/" + form.name;
  base::make_directories(options.folder);
  const bool made = take_folder(folder, form.name);
  const base::ScopeExit look([&] { context.catalog.look_again(); });
  try {
    base::write_file_atomic(folder + launch_file, yaml_of(form, options.folder));
    start_or_refuse(context, words_of_start(form, folder), folder, asked, patience_seconds, 400, [&](int code) {
      const bool refused_settings = code == 2 && !base::file_exists(folder + "/metrics.jsonl");
      if (made && refused_settings) base::remove_tree(folder);  // it was no run
    });
  } catch (...) {
    leave_folder(folder);
    throw;
  }
  return form.name;
}

void resume_run(const RouteContext& context, const std::string& name, std::optional<std::int64_t> step, const Asked& asked,
                double patience_seconds) {
  const std::string folder = context.catalog.folder_of(name);
  if (is_at_work(folder)) throw Refused{409, base::say("'{}' is already running", name)};
  const std::vector<std::int64_t> steps = complete_steps(folder);
  if (step && std::find(steps.begin(), steps.end(), *step) == steps.end())
    throw Refused{409, base::say("'{}' has no complete checkpoint of step {}", name, *step)};
  const std::optional<ResumeWords> resume = resume_words(folder, step ? step_folder(folder, *step) : "auto");
  if (!resume) throw Refused{409, base::say("'{}' has no settings to resume with (config.yaml): start it from the form", name)};
  if (resume->hosts.size() > 1)
    throw Refused{409, base::say("'{}' ran on {} hosts, but this page starts processes only on its own host. On each of them, run:\n{}", name, resume->hosts.size(), lines_of_hosts(*resume))};
  const base::ScopeExit look([&] { context.catalog.look_again(); });
  start_or_refuse(context, words_of(*resume, flags_to_resume_with(*resume, name, context.options.root)), folder, asked,
                  patience_seconds, 409);
}

bool RunStops::is_first(const std::string& folder, const host::ProcessId& id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  host::ProcessId& asked = asked_[folder];
  if (asked.pid == id.pid && asked.start == id.start) return false;
  asked = id;
  return true;
}

void RunStops::stop(const RouteContext& context, const std::string& name, StopHow how) {
  const std::string folder = context.catalog.folder_of(name);
  const std::optional<RunLeader> leader = leader_of(folder, last_events(folder));
  if (!leader) throw Refused{409, base::say("'{}' is not running", name)};
  const Refused not_ours{409, base::say("'{}' cannot be stopped from here: its process {} belongs to another user, does not write this run's folder, or has just ended", name, leader->id.pid)};
  if (!leader->is_here && leader->host == base::host_name()) throw not_ours;
  if (!leader->is_here) throw Refused{409, base::say("'{}' is controlled from the host {}, which this page cannot reach: stop it there", name, leader->host.empty() ? "?" : leader->host)};
  const host::HeldProcess process(leader->id);
  if (!process.found()) throw Refused{409, base::say("'{}' is not running", name)};
  const bool first = is_first(folder, leader->id) && !leader->asked_to_stop;
  if (first || how == StopHow::now)
    if (!process.send(SIGTERM) && !process.ends_within(0)) throw not_ours;
  if (how == StopHow::now && !process.ends_within(apart_seconds)) {
    process.send(SIGTERM);
    if (!process.ends_within(seconds_until_killed_)) process.send(SIGKILL);
  }
  context.catalog.look_again();
}

std::vector<Route> control_routes(const RouteContext& context) {
  using http::Method;
  const auto controls = std::make_shared<Controls>(context);
  return {{Method::post, "/api/runs", Right::change, [controls](const Asked& asked) { return controls->start(asked); },
           ThreadPool::acts},
          {Method::post, "/api/runs/{run}/stop", Right::change,
           [controls](const Asked& asked) { return controls->stop(asked); }, ThreadPool::acts},
          {Method::post, "/api/runs/{run}/resume", Right::change,
           [controls](const Asked& asked) { return controls->resume(asked); }, ThreadPool::acts},
          {Method::post, "/api/runs/{run}/export", Right::change,
           [controls](const Asked& asked) { return controls->export_step(asked); }, ThreadPool::acts},
          {Method::get, "/api/runs/{run}/exports", Right::see, [controls](const Asked& asked) {
             return json_response(200, to_json(exports_of(controls->context.catalog.folder_of(asked.name("run")))));
           }}};
}

}  // namespace troika::serve
