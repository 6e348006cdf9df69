#include "serve/site.h"

#include <gtest/gtest.h>

namespace troika::serve {
namespace {

http::Request asking(http::Method method, std::vector<http::Header> headers) {
  http::Request request;
  request.method = method;
  request.path = "/api/runs";
  request.headers = std::move(headers);
  return request;
}

struct Doors {
  explicit Doors(Options given = {}) : access_control(given, 8000, "secret", "session") {}
  AccessControl access_control;

  // The status that a request is answered with instead; 0: it passes.
  int get(std::vector<http::Header> headers, Asks asks = Asks::route) const {
    const auto refused = access_control.refusal(asking(http::Method::get, std::move(headers)), asks, Right::see);
    return refused ? refused->status : 0;
  }
  int post(std::vector<http::Header> headers, Asks asks = Asks::route, Right right = Right::change) const {
    const auto refused = access_control.refusal(asking(http::Method::post, std::move(headers)), asks, right);
    return refused ? refused->status : 0;
  }
};

const http::Header own{"host", "127.0.0.1:8000"}, bearer{"authorization", "Bearer secret"},
    session{"x-troika-session", "session"}, json{"content-type", "application/json; charset=utf-8"},
    ours{"x-troika", "1"}, origin{"origin", "http://127.0.0.1:8000"};

TEST(AccessControl, WhoHasNoTokenIsToldSo) {
  const Doors doors;
  EXPECT_EQ(doors.get({own}), 401);
  EXPECT_EQ(doors.get({own, {"authorization", "Bearer secreT"}}), 401);
  EXPECT_EQ(doors.get({own, {"authorization", "Bearer "}}), 401);
  EXPECT_EQ(doors.get({own, {"authorization", "Basic secret"}}), 401);
  EXPECT_EQ(doors.get({own, {"x-troika-session", "secret"}}), 401);
  EXPECT_EQ(doors.get({own, {"x-troika-session", ""}}), 401);
  EXPECT_EQ(doors.get({own, {"authorization", "Bearer session"}}), 401);
  EXPECT_EQ(doors.get({own, bearer}), 0);
  EXPECT_EQ(doors.get({own, session}), 0);
}

TEST(AccessControl, AnswersOnlyForItsOwnNamesAndBeforeAnyLogin) {
  const Doors doors;
  for (const char* host : {"localhost:8000", "LOCALHOST:8000", "[::1]:8000"})
    EXPECT_EQ(doors.get({{"host", host}, bearer}), 0) << host;
  for (const char* host : {"", "127.0.0.1", "127.0.0.1:8001", "evil.example:8000", "localhost.evil.example:8000",
                           "127.0.0.1:8000.evil.example"}) {
    EXPECT_EQ(doors.get({{"host", host}, bearer}), 421) << host;
    EXPECT_EQ(doors.get({{"host", host}}, Asks::asset), 421) << host;
    EXPECT_EQ(doors.post({{"host", host}, json, ours}, Asks::login), 421) << host;
  }
}

TEST(AccessControl, OtherNamesAreAllowedOneByOne) {
  Options options;
  options.other_hosts = {"request_pool.lan", "request_pool.lan:9000"};
  const Doors doors(options);
  EXPECT_EQ(doors.get({{"host", "request_pool.lan:8000"}, bearer}), 0);
  EXPECT_EQ(doors.get({{"host", "request_pool.lan:9000"}, bearer}), 0);
  EXPECT_EQ(doors.get({{"host", "request_pool.lan"}, bearer}), 421);
}

TEST(AccessControl, WhatChangesSomethingComesFromThisPageOrHasTheToken) {
  const Doors doors;
  EXPECT_EQ(doors.post({own, session, origin, json, ours}), 0);
  EXPECT_EQ(doors.post({own, bearer, json, ours}), 0);
  EXPECT_EQ(doors.post({own, session, json, ours}), 403) << "no origin, no token";
  EXPECT_EQ(doors.post({own, session, {"origin", "http://evil.example"}, json, ours}), 403);
  EXPECT_EQ(doors.post({own, session, {"origin", "null"}, json, ours}), 403);
  EXPECT_EQ(doors.post({own, session, {"origin", "https://127.0.0.1:8000"}, json, ours}), 403);
  EXPECT_EQ(doors.post({own, bearer, {"origin", "http://evil.example"}, json, ours}), 403);
  EXPECT_EQ(doors.post({own, session, origin, json, ours, {"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(doors.post({own, session, origin, json, ours, {"sec-fetch-site", "same-site"}}), 403);
  EXPECT_EQ(doors.post({own, session, origin, json, ours, {"sec-fetch-site", "same-origin"}}), 0);
  EXPECT_EQ(doors.post({own, session, origin, json}), 403) << "a form cannot set X-Troika";
  EXPECT_EQ(doors.post({own, session, origin, {"content-type", "text/plain"}, ours}), 415);
  EXPECT_EQ(doors.post({own, session, origin, ours}), 415);
}

TEST(AccessControl, APageOfOthersReadsNothingEither) {
  const Doors doors;
  EXPECT_EQ(doors.get({own, session, {"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(doors.get({own, session, {"sec-fetch-site", "same-site"}, {"sec-fetch-mode", "no-cors"}}), 403);
  EXPECT_EQ(doors.get({own, session, {"origin", "http://evil.example"}}), 403);
  EXPECT_EQ(doors.get({own, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "no-cors"}}, Asks::asset), 403);
  EXPECT_EQ(doors.get({own, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}}, Asks::asset), 0)
      << "a link";
  EXPECT_EQ(doors.get({own}, Asks::asset), 0);
}

TEST(AccessControl, ViewOnlyChangesNothing) {
  Options options;
  options.access = Access::view_only;
  const Doors doors(options);
  EXPECT_EQ(doors.post({own, bearer, json, ours}), 403);
  EXPECT_EQ(doors.post({own, json, ours, origin}, Asks::login, Right::see), 0);
  EXPECT_EQ(doors.get({own, bearer}), 0);
}

TEST(AccessControl, AHeaderThatDecidesStandsOnce) {
  const Doors doors;
  EXPECT_EQ(doors.get({own, bearer, bearer}), 400);
  EXPECT_EQ(doors.get({own, session, session}), 400);
  EXPECT_EQ(doors.post({own, bearer, json, ours, origin, {"origin", "http://evil.example"}}), 400);
}

TEST(AccessControl, WordsOfAProxyCountOnlyBehindOne) {
  Options options;
  options.other_hosts = {"runs.example"};
  EXPECT_EQ(Doors(options).get({own, {"x-forwarded-host", "evil.example"}, bearer}), 0) << "it is not looked at";
  EXPECT_EQ(Doors(options).get({{"host", "evil.example"}, {"x-forwarded-host", "runs.example"}, bearer}), 421);
  options.proxy = Proxy::in_front;
  options.base_path = "/troika";
  const Doors doors(options);
  EXPECT_EQ(doors.get({own, {"x-forwarded-host", "runs.example"}, bearer}), 0);
  EXPECT_EQ(doors.get({own, {"x-forwarded-host", "evil.example"}, bearer}), 421);
  EXPECT_EQ(doors.post({{"host", "runs.example"}, {"origin", "https://runs.example"}, session, json, ours}), 0);
  EXPECT_EQ(doors.get({{"host", "runs.example"}, session, {"authorization", "Basic of-the-proxy"}}), 0);
}

// Every server of 127.0.0.1 is sent the cookies of all others there.
TEST(AccessControl, NoCookieLetsIn) {
  for (const char* value : {"troika-8000=session", "troika-8000=secret", "x-troika-session=session", "session"})
    EXPECT_EQ(Doors().get({own, {"cookie", value}}), 401) << value;
}

TEST(AccessControl, SecretsAreLongAndNew) {
  const std::string a = new_secret(), b = new_secret();
  EXPECT_EQ(a.size(), 32u);
  EXPECT_NE(a, b);
}

TEST(Routes, APathIsTakenApartBeforeItsNamesAreDecoded) {
  const std::vector<Route> routes = {{http::Method::get, "/api/runs/{run}/view", Right::see, {}}};
  const Found found = find_route(routes, http::Method::get, "/api/runs/a%2Fb%20c/view");
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.names.at("run"), "a/b c");
  EXPECT_EQ(find_route(routes, http::Method::get, "/api/runs/a/b/view").route, nullptr);
  EXPECT_EQ(find_route(routes, http::Method::get, "/api/runs//view").route, nullptr);
  EXPECT_EQ(find_route(routes, http::Method::get, "/api/runs/%00/view").route, nullptr);
  EXPECT_EQ(find_route(routes, http::Method::get, "/api/runs/%c0%af/view").route, nullptr) << "no UTF-8";
  EXPECT_EQ(find_route(routes, http::Method::get, "/api/runs/%2/view").route, nullptr);
  EXPECT_TRUE(find_route(routes, http::Method::post, "/api/runs/a/view").path_known);
}

TEST(Routes, AQueryHasValuesByName) {
  const Query query("run=a&run=b%26c&from=12&x=1.5&bad=1e&empty=&%zz=1");
  EXPECT_EQ(query.all("run"), (std::vector<std::string>{"a", "b&c"}));
  EXPECT_EQ(query.integer("from"), 12);
  EXPECT_EQ(query.number("x"), 1.5);
  EXPECT_EQ(query.one("empty"), "");
  EXPECT_EQ(query.one("none"), std::nullopt);
  EXPECT_THROW((void)query.number("bad"), Refused);
}

}  // namespace
}  // namespace troika::serve
