#include <unistd.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/host_name.h"
#include "base/version.h"
#include "host/cores.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

nlohmann::ordered_json memory_of_this_host() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes_of_page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || bytes_of_page <= 0) return nullptr;
  return static_cast<std::int64_t>(pages) * bytes_of_page;
}

std::string facts_json(const Options& options) {
  const nlohmann::ordered_json facts = {{"version", base::version},
                                        {"folder", options.folder},
                                        {"root", options.root},
                                        {"view_only", options.access == Access::view_only},
                                        {"host", base::host_name()},
                                        {"cores", host::usable_cores()},
                                        {"memory_bytes", memory_of_this_host()}};
  return facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::vector<Route> server_routes(const Shop& shop) {
  const Options& options = shop.options;
  return {{http::Method::get, "/api/serve", Right::see,
           [&options](const Asked&) { return json_response(200, facts_json(options)); }}};
}

}  // namespace troika::serve
