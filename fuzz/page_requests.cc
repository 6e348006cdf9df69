// What clients ask of the page's server: who passes the access_control, and what paths and queries become.
#include <algorithm>
#include <string>

#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "http/request_parser.h"
#include "serve/site.h"
#include "serve/routes.h"

namespace troika::fuzz {
namespace {
using namespace serve;

constexpr std::string_view token = "0123456789abcdef", session = "fedcba9876543210";

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool names_a_host_of_ours(const http::Request& request) {
  std::string host(request.header("host"));
  std::transform(host.begin(), host.end(), host.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return host == "127.0.0.1:80" || host == "localhost:80" || host == "[::1]:80";
}

bool shows_a_secret(const http::Request& request) {
  return std::any_of(request.headers.begin(), request.headers.end(), [](const http::Header& header) {
    return (header.name == "authorization" && header.value.find(token) != std::string::npos) ||
           (header.name == "x-troika-session" && header.value.find(session) != std::string::npos);
  });
}

void require_guarded(const http::Request& request, serve::Access access) {
  serve::Options options;
  options.access = access;
  const serve::AccessControl access_control(options, 80, std::string(token), std::string(session));
  const bool changes = request.method != http::Method::get;
  const auto refused = access_control.refusal(request, serve::Asks::route, changes ? serve::Right::change : serve::Right::see);
  if (refused) {
    require(refused->status >= 400 && refused->status < 500, "a refusal is the client's");
  } else {
    require(names_a_host_of_ours(request), "only own names are answered");
    require(shows_a_secret(request), "nobody passes without a secret");
    require(!changes || access != serve::Access::view_only, "nothing is changed where one may only look");
    require(!changes || request.header("x-troika") == "1", "a form of another page changes nothing");
  }
  if (!access_control.refusal(request, serve::Asks::asset, serve::Right::see)) require(names_a_host_of_ours(request), "nor are files");
}

void require_names(const http::Request& request) {
  static const std::vector<serve::Route> routes = {{http::Method::get, "/api/runs", serve::Right::see, {}},
                                            {http::Method::get, "/api/runs/{run}", serve::Right::see, {}},
                                            {http::Method::get, "/api/runs/{run}/view", serve::Right::see, {}},
                                            {http::Method::post, "/api/runs/{run}/stop", serve::Right::change, {}}};
  for (const auto& [key, name] : serve::find_route(routes, request.method, request.path).names)
    require(!name.empty() && is_plain(name), "a name is text");
  const serve::Query query(request.query);
  for (const char* name : {"run", "from", "lang"}) {
    for (const std::string& value : query.all(name)) require(is_plain(value), "a value is text");
    try {
      (void)query.integer(name);
      (void)query.number(name);
    } catch (const serve::Refused& refused) {
      require(refused.status == 400, "what is no number is the client's fault");
      (void)serve::error_response(refused.status, refused.text.chinese);
    }
  }
}

}  // namespace
}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(page_requests)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  http::RequestParser parser;
  parser.take(fuzz::text_of(data, size));
  if (parser.state() != http::RequestParser::State::complete) return 0;
  fuzz::require_guarded(parser.request(), serve::Access::see_and_change);
  fuzz::require_guarded(parser.request(), serve::Access::view_only);
  fuzz::require_names(parser.request());
  return 0;
}
