#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/say.h"
#include "base/text.h"
#include "serve/checkpoints.h"
#include "serve/form.h"
#include "serve/routes.h"
#include "serve/run_control.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

Json object_in(const Asked& asked) {
  Json body = Json::parse(asked.body, nullptr, false);
  if (!body.is_object()) throw Refused{400, base::say("the body is no JSON object")};
  return body;
}

// Nothing: the newest checkpoint.
std::optional<std::int64_t> step_in(const Asked& asked) {
  const Json body = object_in(asked);
  const auto step = body.find("step");
  if (step == body.end() || step->is_null()) return std::nullopt;
  if (!step->is_number_integer()) throw Refused{400, base::say("the step is a whole number, or null for the newest checkpoint")};
  return step->get<std::int64_t>();
}

StopHow how_in(const Asked& asked) {
  const Json body = object_in(asked);
  const auto how = body.find("how");
  if (how != body.end() && *how == "save") return StopHow::save;
  if (how != body.end() && *how == "now") return StopHow::now;
  throw Refused{400, base::say("say how: {{\"how\": \"save\"}} or {{\"how\": \"now\"}}")};
}

// What acts on runs. One start at a time, so that a name or a folder is taken once.
struct Controls {
  explicit Controls(const Shop& of) : shop(of) {}

  const Shop shop;
  std::mutex starting;
  RunStops stops;

  http::Response start(const Asked& asked) {
    const CheckedForm checked = checked_form(asked.body, shop.options);
    if (!checked.errors.empty()) throw Refused{400, base::lines(checked.errors)};
    const std::lock_guard<std::mutex> guard(starting);
    return json_response(201, json_line({{"name", start_run(shop, checked.form, asked)}}));
  }

  http::Response stop(const Asked& asked) {
    stops.stop(shop, asked.name("run"), how_in(asked));
    return json_response(202, "{}\n");
  }

  http::Response resume(const Asked& asked) {
    const std::optional<std::int64_t> step = step_in(asked);
    const std::lock_guard<std::mutex> guard(starting);
    resume_run(shop, asked.name("run"), step, asked);
    return json_response(202, "{}\n");
  }

  http::Response export_step(const Asked& asked) {
    const std::optional<std::int64_t> step = step_in(asked);
    const std::lock_guard<std::mutex> guard(starting);
    return json_response(202, json_line({{"folder", export_checkpoint(shop, asked.name("run"), step)}}));
  }
};

}  // namespace

std::vector<Route> control_routes(const Shop& shop) {
  using http::Method;
  const auto controls = std::make_shared<Controls>(shop);
  return {{Method::post, "/api/runs", Right::change, [controls](const Asked& asked) { return controls->start(asked); },
           ThreadPool::acts},
          {Method::post, "/api/runs/{run}/stop", Right::change,
           [controls](const Asked& asked) { return controls->stop(asked); }, ThreadPool::acts},
          {Method::post, "/api/runs/{run}/resume", Right::change,
           [controls](const Asked& asked) { return controls->resume(asked); }, ThreadPool::acts},
          {Method::post, "/api/runs/{run}/export", Right::change,
           [controls](const Asked& asked) { return controls->export_step(asked); }, ThreadPool::acts},
          {Method::get, "/api/runs/{run}/exports", Right::see, [controls](const Asked& asked) {
             return json_response(200, to_json(exports_of(controls->shop.catalog.folder_of(asked.name("run")))));
           }}};
}

}  // namespace troika::serve
