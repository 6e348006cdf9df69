// The requests that the page and scripts may make, as rooms offer them: a pattern of the path, who may ask, and what answers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/language.h"
#include "config/flag_table.h"
#include "http/message.h"
#include "planner/plan_arguments.h"

namespace troika::serve {

// The options that a server of the page was started with.
enum class Access { see_and_change, view_only };
enum class Proxy { none, in_front };

struct Options {
  std::string folder;   // with runs below it, or a run; absolute, without links
  std::string root;     // below which data and models of new runs lie; absolute, without links
  std::string program;  // that starts runs: troika
  Access access = Access::see_and_change;
  Proxy proxy = Proxy::none;
  std::string base_path;  // "/troika" where a proxy gives the page below that; ""
  std::vector<std::string>
      other_hosts;                  // names besides the loopback's that clients may ask for, with or without a port
  config::Environment environment;  // what started runs get
  planner::VocabularyOf vocabulary_of;
};

class RunCatalog;
class RunViews;
class ColumnCache;

// "run=a&run=b%2Fc": names and values, percent-decoded, in order. Pairs that are not UTF-8, or hold control characters, are left out.
class Query {
 public:
  Query() = default;
  explicit Query(std::string_view text);

  std::optional<std::string> one(std::string_view name) const;  // the first
  std::vector<std::string> all(std::string_view name) const;
  // A number in a text that is nothing else; nothing where there is none. Refused 400 where there is one that is none.
  std::optional<double> number(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// The language of "lang": zh is Chinese, all else English.
base::Language language_in(const Query& query);

// Nothing for a text that is no percent-encoding of UTF-8 without control characters. '+' stays.
std::optional<std::string> percent_decoded(std::string_view text);

struct Asked {
  http::Method method = http::Method::get;
  std::map<std::string, std::string> names;  // of the pattern: "run" of "/api/runs/{run}/view"
  Query query;
  std::string body;
  base::Language language = base::Language::english;
  std::function<bool()> abandoned = [] { return false; };  // whoever has asked has gone away; any thread, at any time

  const std::string& name(const std::string& key) const { return names.at(key); }
};

enum class Right { see, change };

// Whose threads answer, so that none waits for another's: what reads folders, what waits for a program or computes for seconds, what
// starts and ends runs.
enum class ThreadPool { reads, waits, acts };

struct Route {
  http::Method method = http::Method::get;
  std::string pattern;  // "/api/runs/{run}/metrics"
  Right right = Right::see;
  std::function<http::Response(const Asked&)> answer;  // on a thread of its pool, several at once; may take seconds
  ThreadPool threads = ThreadPool::reads;
};

// Thrown by an answer: {"error": text} with that status, in the language of who asked; of a program that ended with an error also
// "why", what why_json gives.
struct Refused {
  int status = 400;
  base::Text text;
  std::string why{};  // JSON; "": nothing is known
};

std::string json_line(const nlohmann::ordered_json& json);  // what is not UTF-8 is replaced
http::Response json_response(int status, std::string json);
http::Response error_response(int status, const std::string& text, const std::string& why = "");

// What `answer` gives, or its error as a response: Refused, ConfigError and DataError 400, PeerError 503, anything else 500
// without its text.
http::Response answered(const Route& route, const Asked& asked);

struct Found {
  const Route* route = nullptr;  // nullptr: none of this method
  bool path_known = false;       // with another method
  std::map<std::string, std::string> names;
};
Found find_route(const std::vector<Route>& routes, http::Method method, std::string_view path);

// The means with which rooms answer.
struct RouteContext {
  RunCatalog& catalog;
  RunViews& views;
  ColumnCache& columns;
  const Options& options;
};
std::vector<Route> server_routes(const RouteContext& context);   // what it is, the lists of runs and sweeps, OpenMetrics
std::vector<Route> form_routes(const RouteContext& context);     // settings, choices, plan
std::vector<Route> control_routes(const RouteContext& context);  // start, stop, resume, export
std::vector<Route> chat_routes(const RouteContext& context);
std::vector<Route> reading_routes(const RouteContext& context);  // what one run's folder tells
std::vector<Route> curve_routes(const RouteContext& context);

}  // namespace troika::serve
