#include <memory>
#include <mutex>

#include "commands/serve/choices.h"
#include "commands/serve/form.h"
#include "commands/serve/form_file.h"
#include "commands/serve/form_plan.h"
#include "commands/serve/routes.h"
#include "commands/serve/settings_json.h"

namespace troika::commands::serve {

std::vector<Route> form_routes(const Shop& shop) {
  const Options& options = shop.options;
  const auto planning = std::make_shared<std::mutex>();  // one plan at a time, as each may take all of a core
  return {{http::Method::get, "/api/settings", Right::see,
           [](const Asked&) { return json_response(200, settings_json()); }},
          {http::Method::get, "/api/choices", Right::see,
           [&options](const Asked& asked) {
             return json_response(200, to_json(choices_below(options.root, asked.language)));
           }},
          {http::Method::post, "/api/form", Right::change,
           [](const Asked& asked) { return json_response(200, form_of_file(asked.body)); }},
          {http::Method::post, "/api/plan", Right::change, [&options, planning](const Asked& asked) {
             const CheckedForm checked = checked_form(asked.body, options);
             const std::lock_guard<std::mutex> guard(*planning);
             return json_response(200, plan_json(checked, options));
           }}};
}

}  // namespace troika::commands::serve
