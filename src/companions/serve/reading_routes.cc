// What one run's folder tells, beside its curves.
#include <algorithm>
#include <utility>

#include "base/say.h"
#include "serve/catalog.h"
#include "serve/checkpoints.h"
#include "serve/grid.h"
#include "serve/logs.h"
#include "serve/routes.h"
#include "serve/run_config.h"
#include "serve/run_plan.h"
#include "serve/views.h"
#include "serve/why_of_run.h"

namespace troika::serve {
namespace {

constexpr std::int64_t most_log_lines = 5000;
constexpr std::size_t most_search_bytes = 200;

LogQuestion log_question(const Query& query) {
  LogQuestion question;
  question.search = query.one("search").value_or("");
  if (question.search.size() > most_search_bytes) throw Refused{400, base::say("what is searched for is longer than 200 bytes")};
  question.before = query.integer("before");
  const auto usual = static_cast<std::int64_t>(question.lines);
  question.lines =
      static_cast<std::size_t>(std::clamp<std::int64_t>(query.integer("limit").value_or(usual), 1, most_log_lines));
  return question;
}

}  // namespace

std::vector<Route> reading_routes(const Shop& shop) {
  std::vector<Route> routes;
  // `make` gets the run's folder and what was asked.
  const auto add = [&](const char* what, auto make, ThreadPool threads = ThreadPool::reads) {
    routes.push_back({http::Method::get, std::string("/api/runs/{run}/") + what, Right::see,
                      [&catalog = shop.catalog, make](const Asked& asked) {
                        return json_response(200, make(catalog.folder_of(asked.name("run")), asked));
                      },
                      threads});
  };
  const Options& options = shop.options;
  add("view", [&views = shop.views](const std::string& folder, const Asked& asked) {
    return views.view_json(folder, asked.language);
  });
  add("events", [](const std::string& folder, const Asked&) { return events_json(folder); });
  add(
      "why", [&options](const std::string& folder, const Asked& asked) { return why_json(options, folder, asked); },
      ThreadPool::waits);
  add("config", [](const std::string& folder, const Asked&) { return config_json(folder); });
  add("checkpoints", [](const std::string& folder, const Asked&) { return checkpoints_json(folder); });
  add("log", [](const std::string& folder, const Asked& asked) {
    return log_json(folder, asked.query.one("rank").value_or("0"), log_question(asked.query));
  });
  add(
      "grid",
      [&options](const std::string& folder, const Asked& asked) {
        return grid_json(folder, asked.query.integer("step"), options.environment, asked.language);
      },
      ThreadPool::waits);
  add(
      "plan",
      [&options](const std::string& folder, const Asked& asked) {
        return plan_json_of_run(folder, options.environment, asked.language);
      },
      ThreadPool::waits);
  return routes;
}

}  // namespace troika::serve
