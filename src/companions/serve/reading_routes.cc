// The contents of one run's folder, beside its curves.
#include <fmt/format.h>

#include <algorithm>

#include "base/say.h"
#include "serve/catalog.h"
#include "serve/checkpoints.h"
#include "serve/column_cache.h"
#include "serve/columns.h"
#include "serve/curves.h"
#include "serve/logs.h"
#include "serve/programs.h"
#include "serve/routes.h"
#include "serve/run_config.h"
#include "serve/run_plan.h"
#include "serve/views.h"

namespace troika::serve {
namespace {

constexpr std::int64_t most_log_lines = 5000;
constexpr std::size_t most_search_bytes = 200;

LogQuestion log_question(const Query& query) {
  LogQuestion question;
  question.search = query.one("search").value_or("");
  if (question.search.size() > most_search_bytes) throw Refused{400, base::say("the search text is longer than 200 bytes")};
  question.before = query.integer("before");
  const auto usual = static_cast<std::int64_t>(question.lines);
  question.lines =
      static_cast<std::size_t>(std::clamp<std::int64_t>(query.integer("limit").value_or(usual), 1, most_log_lines));
  return question;
}

constexpr std::size_t most_curves = 64;
constexpr std::int64_t most_points = 10'000;

CurveQuestion curve_question(const Query& query) {
  CurveQuestion question;
  const std::string series = query.one("series").value_or("loss"), axis = query.one("x").value_or("step");
  const auto known_series = series_of(series);
  const auto known_axis = axis_of(axis);
  if (!known_series) throw Refused{400, base::say("unknown series '{}'; the series are loss, valid_loss, grad_norm, lr, tokens_per_second, step_seconds", series)};
  if (!known_axis) throw Refused{400, base::say("x must be step, tokens or time, not '{}'", axis)};
  question.series = *known_series;
  question.axis = *known_axis;
  question.from = query.number("from");
  question.to = query.number("to");
  question.points = std::clamp<std::int64_t>(query.integer("points").value_or(question.points), 1, most_points);
  return question;
}

std::string curves_json(const Asked& asked, const RunCatalog& catalog, ColumnCache& cache) {
  const CurveQuestion question = curve_question(asked.query);
  const std::vector<std::string> names = asked.query.all("run");
  if (names.empty()) throw Refused{400, base::say("say which runs: run=NAME, once for each")};
  if (names.size() > most_curves) throw Refused{400, base::say("at most {} runs at a time", most_curves)};
  std::string text =
      fmt::format(R"({{"x":"{}","series":"{}","runs":[)", word_of(question.axis), word_of(question.series));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += ",\n";
    cache.look(catalog.folder_of(names[i]),
               [&](const Columns& columns, const base::RunFile*) { text += curve_json(names[i], columns, question); });
  }
  return text + "]}\n";
}

std::string rows_of_run(const Asked& asked, const RunCatalog& catalog, ColumnCache& cache) {
  const std::int64_t from = asked.query.integer("from").value_or(0);
  const std::int64_t limit = asked.query.integer("limit").value_or(most_rows);
  if (limit < 0) throw Refused{400, base::say("limit is below 0")};
  std::string text = "[]\n";
  cache.look(catalog.folder_of(asked.name("run")), [&](const Columns& columns, const base::RunFile* file) {
    if (file != nullptr) text = rows_json(columns, *file, from, limit);
  });
  return text;
}

}  // namespace

std::vector<Route> reading_routes(const RouteContext& context) {
  std::vector<Route> routes;
  // `make` gets the run's folder and what was asked.
  const auto add = [&](const char* what, auto make, ThreadPool threads = ThreadPool::reads) {
    routes.push_back({http::Method::get, std::string("/api/runs/{run}/") + what, Right::see,
                      [&catalog = context.catalog, make](const Asked& asked) {
                        return json_response(200, make(catalog.folder_of(asked.name("run")), asked));
                      },
                      threads});
  };
  const Options& options = context.options;
  add("view", [&views = context.views](const std::string& folder, const Asked& asked) {
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

std::vector<Route> curve_routes(const RouteContext& context) {
  const auto answer = [&catalog = context.catalog, &cache = context.columns](auto make) {
    return [&catalog, &cache, make](const Asked& asked) { return json_response(200, make(asked, catalog, cache)); };
  };
  return {{http::Method::get, "/api/curves", Right::see, answer(curves_json)},
          {http::Method::get, "/api/runs/{run}/metrics", Right::see, answer(rows_of_run)}};
}

}  // namespace troika::serve
