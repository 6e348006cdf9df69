#include <memory>
#include <nlohmann/json.hpp>

#include "base/say.h"
#include "base/text.h"
#include "serve/choices.h"
#include "serve/data_sample.h"
#include "serve/form.h"
#include "serve/form_file.h"
#include "serve/form_plan.h"
#include "serve/routes.h"
#include "serve/settings_json.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr double sample_deadline = 60;  // seconds

std::string json_of_text(const std::string& text) {
  return json_line(Json{{"text", text}});
}

}  // namespace

std::vector<Route> form_routes(const Shop& shop) {
  const Options& options = shop.options;
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
             return json_response(200,
                                  json_of_text(data_sample(checked.form, options, asked, sample_deadline)));
           },
           ThreadPool::waits},
          {http::Method::post, "/api/plan", Right::change, [&options, plans](const Asked& asked) {
             const CheckedForm checked = checked_form(asked.body, options);
             return json_response(200, plans->make([&] { return plan_json(checked, options, asked.language); }));
           },
           ThreadPool::waits}};
}

}  // namespace troika::serve
