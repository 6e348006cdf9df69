#include "serve/routes.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::serve {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::vector<std::string_view> split_at(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(mark);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class Number>
std::optional<Number> number_in(const std::optional<std::string>& text, std::string_view name) {
  if (!text) return std::nullopt;
  Number value{};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size())
    throw Refused{400, base::say("'{}' is not a number: {}", name, *text)};
  return value;
}

// The names of the braces, or nothing where the path is not of the pattern.
std::optional<std::map<std::string, std::string>> matched(std::string_view pattern, std::string_view path) {
  const std::vector<std::string_view> wanted = split_at(pattern, '/'), there = split_at(path, '/');
  if (wanted.size() != there.size()) return std::nullopt;
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].empty() || wanted[i].front() != '{') {
      if (wanted[i] != there[i]) return std::nullopt;
      continue;
    }
    std::optional<std::string> name = percent_decoded(there[i]);
    if (!name || name->empty()) return std::nullopt;
    names[std::string(wanted[i].substr(1, wanted[i].size() - 2))] = std::move(*name);
  }
  return names;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (has_control_character(decoded) || !base::is_utf8(decoded)) return std::nullopt;
  return decoded;
}

Query::Query(std::string_view text) {
  for (const std::string_view pair : split_at(text, '&')) {
    const std::size_t equals = pair.find('=');
    std::optional<std::string> name = percent_decoded(pair.substr(0, equals));
    std::optional<std::string> value =
        percent_decoded(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1));
    if (name && value && !name->empty()) pairs_.emplace_back(std::move(*name), std::move(*value));
  }
}

std::optional<std::string> Query::one(std::string_view name) const {
  for (const auto& [key, value] : pairs_)
    if (key == name) return value;
  return std::nullopt;
}

std::vector<std::string> Query::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : pairs_)
    if (key == name) values.push_back(value);
  return values;
}

std::optional<double> Query::number(std::string_view name) const { return number_in<double>(one(name), name); }
std::optional<std::int64_t> Query::integer(std::string_view name) const {
  return number_in<std::int64_t>(one(name), name);
}

std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

http::Response json_response(int status, std::string json) {
  return {status, {{"content-type", "application/json; charset=utf-8"}}, std::move(json)};
}

base::Language language_in(const Query& query) {
  return query.one("lang").value_or("") == "zh" ? base::Language::chinese : base::Language::english;
}

http::Response error_response(int status, const std::string& text, const std::string& why) {
  using Json = nlohmann::ordered_json;
  Json answer{{"error", text}};
  if (!why.empty()) answer["why"] = Json::parse(why);
  return json_response(status, json_line(answer));
}

http::Response answered(const Route& route, const Asked& asked) {
  try {
    return route.answer(asked);
  } catch (const Refused& refused) {
    return error_response(refused.status, refused.text.in(asked.language), refused.why);
  } catch (const base::ConfigError& error) {
    return error_response(400, error.in(asked.language));
  } catch (const base::DataError& error) {
    return error_response(400, error.in(asked.language));
  } catch (const base::PeerError& error) {
    return error_response(503, error.in(asked.language));
  } catch (const std::exception&) {
    return error_response(500, std::string(base::Phrase("this request could not be answered because of a bug in Troika").in(asked.language)));
  }
}

Found find_route(const std::vector<Route>& routes, http::Method method, std::string_view path) {
  Found found;
  for (const Route& route : routes) {
    std::optional<std::map<std::string, std::string>> names = matched(route.pattern, path);
    if (!names) continue;
    found.path_known = true;
    if (route.method != method) continue;
    found.route = &route;
    found.names = std::move(*names);
    return found;
  }
  return found;
}

}  // namespace troika::serve
