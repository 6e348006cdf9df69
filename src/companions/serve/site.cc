#include "serve/site.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>
#include <zlib.h>

#include <utility>

#include "base/error.h"
#include "base/say.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

http::Response error_of(const http::Request& request, int status, base::Phrase text) {
  return error_response(status, std::string(text.in(language_in(Query(request.query)))));
}

std::string_view type_of_asset(std::string_view path) {
  static constexpr std::pair<std::string_view, std::string_view> types[] = {
      {".html", "text/html; charset=utf-8"},    {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},      {".json", "application/json; charset=utf-8"},
      {".svg", "image/svg+xml; charset=utf-8"}, {".png", "image/png"}};
  for (const auto& [ending, type] : types)
    if (path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending) return type;
  return "text/plain; charset=utf-8";
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  constexpr int window_with_gzip_head = 15 + 16, memory_level = 9;
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_with_gzip_head, memory_level,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    throw base::BugError("zlib does not start");
  std::string packed(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int end = ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (end != Z_STREAM_END) throw base::BugError("zlib does not come to its end");
  return packed;
}

std::string_view key_of(std::string_view path) {
  path.remove_prefix(path.substr(0, 1) == "/" ? 1 : 0);
  return path.empty() ? "index.html" : path;
}

}  // namespace

Site::Site(const Options& options, AccessControl access_control, std::vector<Route> routes, Live& live)
    : base_path_(options.base_path),
      access_control_(std::move(access_control)),
      assets_(embedded_assets()),
      routes_(std::make_shared<const std::vector<Route>>(std::move(routes))),
      live_(live) {}

http::Response Site::answer(const http::Request& request) {
  http::Response response = unguarded(request);
  if (response.later == nullptr) add_guards(response);
  return response;
}

bool Site::end() {
  bool all = true;
  for (RequestPool& request_pool : desks_) all = request_pool.end() && all;
  return all;
}

http::Response Site::log_in(const http::Request& request) const {
  const Json body = Json::parse(request.body, nullptr, false);
  const bool right = body.is_object() && body.contains("token") && body["token"].is_string() &&
                     access_control_.is_token(body["token"].get<std::string>());
  if (!right) return error_of(request, 401, base::Phrase("that is not this server's token; `troika serve --url` prints the address with it"));
  return json_response(200, Json{{"session", access_control_.session()}}.dump() + "\n");
}

http::Response Site::unguarded(const http::Request& request) {
  const bool below = !base_path_.empty() && request.path.substr(0, base_path_.size() + 1) == base_path_ + "/";
  const std::string path = below ? request.path.substr(base_path_.size()) : request.path;
  if (request.method == http::Method::get && !base_path_.empty() && request.path == base_path_) {
    if (auto refused = access_control_.refusal(request, Asks::asset, Right::see)) return std::move(*refused);
    return {303, {{"location", base_path_ + "/"}}};  // addresses of the page are relative to the slash
  }
  if (request.method == http::Method::get && assets_.has(path)) {
    if (auto refused = access_control_.refusal(request, Asks::asset, Right::see)) return std::move(*refused);
    return assets_.answer(path, request);
  }
  if (request.method == http::Method::post && path == "/api/login") {
    if (auto refused = access_control_.refusal(request, Asks::login, Right::see)) return std::move(*refused);
    return log_in(request);
  }
  return asked_of(request, path);
}

http::Response Site::asked_of(const http::Request& request, const std::string& path) {
  const Found found = find_route(*routes_, request.method, path);
  // A client that may not see anything does not learn which pages there are.
  const Right right = found.route != nullptr ? found.route->right : Right::change;
  if (auto refused = access_control_.refusal(request, Asks::route, request.method == http::Method::get ? Right::see : right))
    return std::move(*refused);
  Asked asked;
  asked.query = Query(request.query);
  asked.language = language_in(asked.query);
  if (request.method == http::Method::get && path == "/api/live") return live_.follow(asked);
  if (found.route == nullptr) {
    http::Response response = found.path_known ? error_of(request, 405, base::Phrase("method not allowed"))
                                               : error_of(request, 404, base::Phrase("there is no such page"));
    if (found.path_known) response.headers.push_back({"allow", request.method == http::Method::get ? "POST" : "GET"});
    return response;
  }
  asked.method = request.method;
  asked.names = found.names;
  asked.body = request.body;

  http::Response response;
  response.later = std::make_shared<http::Later>();
  asked.abandoned = [later = response.later] { return !later->wanted() || later->client_has_ended(); };
  RequestPool& request_pool = desks_[static_cast<std::size_t>(found.route->threads)];
  const bool taken = request_pool.post([later = response.later, routes = routes_, route = found.route,
                                asked = std::move(asked)] {
    // A client that only reads on, having sent everything, looks like one that has gone: it is answered where that
    // costs little.
    const bool costs = route->threads == ThreadPool::waits;
    if (!later->wanted()) return;
    http::Response given = costs && later->client_has_ended()
                               ? error_response(503, std::string(base::Phrase("the client has disconnected").in(asked.language)))
                               : answered(*route, asked);
    add_guards(given);
    later->give(std::move(given));
  });
  return taken ? std::move(response) : error_of(request, 503, base::Phrase("too many requests are waiting; a disk may not be responding"));
}

std::string merged_texts(const std::vector<Asset>& assets) {
  using Json = nlohmann::ordered_json;
  Json all = Json::object();
  for (const Asset& asset : assets) {
    if (asset.path.substr(0, 6) != "texts/") continue;
    const Json texts = Json::parse(asset.bytes);
    for (const auto& [key, text] : texts.items()) all[key] = text;
  }
  return all.dump();
}

Assets::Assets(const std::vector<Asset>& assets) {
  const auto add = [&](std::string_view path, std::string bytes) {
    File file;
    file.type = type_of_asset(path);
    file.tag = fmt::format("\"{:016x}\"", XXH3_64bits(bytes.data(), bytes.size()));
    file.compressed = gzip(bytes);
    file.plain = std::move(bytes);
    files_[std::string(path)] = std::move(file);
  };
  for (const Asset& asset : assets)
    if (asset.path.substr(0, 6) != "texts/") add(asset.path, std::string(asset.bytes));
  add("texts.json", merged_texts(assets));
}

bool Assets::has(std::string_view path) const { return files_.count(key_of(path)) > 0; }

http::Response Assets::answer(std::string_view path, const http::Request& request) const {
  const File& file = files_.find(key_of(path))->second;
  http::Response response;
  response.headers = {
      {"content-type", file.type}, {"etag", file.tag}, {"cache-control", "no-cache"}, {"vary", "Accept-Encoding"}};
  if (request.header("if-none-match") == file.tag) {
    response.status = 304;
    return response;
  }
  const bool packs = request.header("accept-encoding").find("gzip") != std::string_view::npos;
  if (packs) response.headers.push_back({"content-encoding", "gzip"});
  response.body = packs ? file.compressed : file.plain;
  return response;
}

}  // namespace troika::serve
