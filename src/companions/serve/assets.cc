#include "serve/assets.h"

#include <fmt/format.h>
#include <xxhash.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace troika::serve {
namespace {

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
