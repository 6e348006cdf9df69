#include "serve/site.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/await_test_support.h"
#include "serve/served_runs_test_support.h"

namespace troika::serve {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A site over made runs, whose answers are waited for.
class SiteTest : public ::testing::Test, protected ServedRuns {
 protected:
  static http::Request asking(http::Method method, const std::string& path, const std::string& body = "",
                              const std::string& token = "secret", const std::string& query = "") {
    http::Request request;
    request.method = method;
    request.path = path;
    request.query = query;
    request.body = body;
    request.headers = {{"host", "localhost:80"}, {"x-troika", "1"}, {"content-type", "application/json"}};
    if (!token.empty()) request.headers.push_back({"authorization", "Bearer " + token});
    return request;
  }
  http::Response ask(http::Method method, const std::string& path, const std::string& body = "",
                     const std::string& token = "secret", const std::string& query = "") {
    return ask_of(site, method, path, body, token, query);
  }
  static http::Response ask_of(Site& asked, http::Method method, const std::string& path, const std::string& body = "",
                               const std::string& token = "secret", const std::string& query = "") {
    http::Response response = asked.answer(asking(method, path, body, token, query));
    if (response.later == nullptr) return response;
    std::promise<void> came;
    response.later->on_news([&] { came.set_value(); });
    std::optional<http::Response> given = response.later->take();
    if (!given) {
      came.get_future().wait_for(std::chrono::seconds(10));
      given = response.later->take();
    }
    response.later->on_news({});
    return given ? std::move(*given) : error_response(599, "no answer came");
  }
  int status(http::Method method, const std::string& path, const std::string& token = "secret") {
    return ask(method, path, "{}", token).status;
  }

  Live live{catalog, views};
  Site site{
      options,
      AccessControl(options, 80, "secret", "session"),
      {{http::Method::get, "/api/good/{run}", Right::see,
        [](const Asked& asked) { return json_response(200, asked.name("run") + asked.query.one("x").value_or("")); }},
       {http::Method::post, "/api/change", Right::change,
        [](const Asked& asked) { return json_response(200, asked.body); }},
       {http::Method::get, "/api/bad", Right::see,
        [](const Asked&) -> http::Response {
          throw Refused{409, {"not now", "现在不行"}};
        }},
       {http::Method::get, "/api/fault", Right::see,
        [](const Asked&) -> http::Response { throw std::runtime_error("a secret"); }}},
      live};
};

constexpr auto get_it = http::Method::get, post_it = http::Method::post;

std::string header_of(const http::Response& response, std::string_view name) {
  for (const http::Header& header : response.headers)
    if (header.name == name) return header.value;
  return "";
}

TEST_F(SiteTest, RoutesAreAnsweredBesideTheServerWithTheGuardsOfEveryAnswer) {
  const http::Response good = ask(get_it, "/api/good/a%2Fb", "", "secret", "x=1");
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(good.body, "a/b1");
  EXPECT_THAT(header_of(good, "content-security-policy"), StartsWith("default-src 'none'"));
  EXPECT_EQ(header_of(good, "cache-control"), "no-store");
  EXPECT_EQ(header_of(good, "x-content-type-options"), "nosniff");
  EXPECT_EQ(ask(post_it, "/api/change", "body").body, "body");
}

TEST_F(SiteTest, ErrorsAreSentencesAndFaultsTellNothing) {
  const http::Response bad = ask(get_it, "/api/bad");
  EXPECT_EQ(bad.status, 409);
  EXPECT_EQ(nlohmann::json::parse(bad.body)["error"], "not now");
  const http::Response fault = ask(get_it, "/api/fault");
  EXPECT_EQ(fault.status, 500);
  EXPECT_THAT(fault.body, Not(HasSubstr("a secret")));
}

TEST_F(SiteTest, WhoHasNoTokenLearnsNotEvenWhichPagesThereAre) {
  for (const char* path : {"/api/good/a", "/api/none", "/api/live", "/elsewhere"})
    EXPECT_EQ(status(get_it, path, ""), 401) << path;
  EXPECT_EQ(status(get_it, "/api/none"), 404);
  EXPECT_EQ(status(post_it, "/api/good/a"), 405);
  EXPECT_EQ(status(get_it, "/api/change"), 405);
}

TEST_F(SiteTest, ALoginIsTheTokenForASessionAndSetsNoCookie) {
  const http::Response in = ask(post_it, "/api/login", R"({"token": "secret"})", "");
  EXPECT_EQ(in.status, 200);
  EXPECT_EQ(in.body, "{\"session\":\"session\"}\n");
  EXPECT_EQ(header_of(in, "set-cookie"), "");
  EXPECT_EQ(header_of(in, "cache-control"), "no-store");
  for (const char* body : {R"({"token": "other"})", R"({"token": ["secret"]})", "secret", "", "[]"})
    EXPECT_EQ(ask(post_it, "/api/login", body, "").status, 401) << body;
}

TEST_F(SiteTest, FilesOfThePageNeedNoTokenAndAreSentOnceEach) {
  http::Request request;
  request.path = "/";
  request.headers = {{"host", "localhost:80"}};
  const http::Response page = site.answer(request);
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page.body, Not(HasSubstr("secret")));
  request.headers.push_back({"if-none-match", header_of(page, "etag")});
  EXPECT_EQ(site.answer(request).status, 304);
  request.headers.back() = {"accept-encoding", "gzip, br"};
  EXPECT_EQ(header_of(site.answer(request), "content-encoding"), "gzip");
  for (const char* path : {"/../main.js", "/texts/../main.js", "//main.js", "/main.js/", "/vendor"}) {
    request.path = path;
    EXPECT_EQ(site.answer(request).status, 401) << path;
  }
}

// As a program that a run's folder keeps waiting.
TEST_F(SiteTest, WhatWaitsForProgramsKeepsNobodyElseAndEndsUnaskedWhereItsClientHasGone) {
  std::promise<void> goes_on;
  std::shared_future<void> until = goes_on.get_future().share();
  std::atomic<int> begun{0};
  const auto slow = [&begun, until](const Asked&) {
    ++begun;
    until.wait();
    return json_response(200, "slow");
  };
  const auto quick = [](const Asked&) { return json_response(200, "quick"); };
  Site busy{options,
            AccessControl(options, 80, "secret", "session"),
            {{get_it, "/api/why", Right::see, slow, ThreadPool::waits},
             {get_it, "/api/runs", Right::see, quick},
             {post_it, "/api/stop", Right::change, quick, ThreadPool::acts}},
            live};
  std::vector<std::shared_ptr<http::Later>> waiting;
  for (int i = 0; i < 3 * RequestPool::threads; ++i) waiting.push_back(busy.answer(asking(get_it, "/api/why")).later);
  EXPECT_TRUE(base::await(20, [&] { return begun == RequestPool::threads; }));
  EXPECT_EQ(ask_of(busy, get_it, "/api/runs").body, "quick");
  EXPECT_EQ(ask_of(busy, post_it, "/api/stop", "{}").body, "quick");
  for (const auto& later : waiting) later->client_ends();
  goes_on.set_value();
  EXPECT_EQ(ask_of(busy, get_it, "/api/why").body, "slow");
  EXPECT_EQ(begun, RequestPool::threads + 1) << "those that had not begun are dropped";
  EXPECT_EQ(waiting.back()->take()->status, 503);
  EXPECT_TRUE(busy.end());
}

TEST_F(SiteTest, WhatHappensIsToldToThoseWhoFollow) {
  make_run("first");
  catalog.look_again();
  catalog.list();
  const http::Response followed = ask(get_it, "/api/live", "", "secret", "run=first&run=none");
  ASSERT_NE(followed.stream, nullptr);
  EXPECT_EQ(header_of(followed, "content-type"), "text/event-stream");
  std::string told;
  EXPECT_TRUE(base::await(20, [&] {
    told += followed.stream->take();
    return told.find("event: view") != std::string::npos;
  }));
  EXPECT_THAT(told, HasSubstr("event: runs\ndata: [{\"name\":\"first\""));
  EXPECT_THAT(told, HasSubstr("event: view\ndata: {\"name\":\"first\",\"view\":{"));
  EXPECT_TRUE(live.end());
  EXPECT_FALSE(followed.stream->open());
}

TEST(RequestPool, ALateThreadIsLeftBehindAndSaidSo) {
  std::promise<void> goes_on;
  std::shared_future<void> until = goes_on.get_future().share();
  RequestPool request_pool(0.1);
  std::promise<int> answer;
  std::promise<void> begun;
  ASSERT_TRUE(request_pool.post([&] { answer.set_value(5); }));
  EXPECT_EQ(answer.get_future().get(), 5);
  ASSERT_TRUE(request_pool.post([&begun, until] {
    begun.set_value();
    until.wait();
  }));
  begun.get_future().wait();
  EXPECT_FALSE(request_pool.end());
  EXPECT_FALSE(request_pool.post([] {}));
  goes_on.set_value();
  EXPECT_TRUE(request_pool.end());
}

TEST(RequestPool, TooManyJobsAreNotTaken) {
  std::promise<void> goes_on;
  std::shared_future<void> until = goes_on.get_future().share();
  RequestPool request_pool;
  int taken = 0;
  while (taken < 1000 && request_pool.post([until] { until.wait(); })) ++taken;
  EXPECT_GE(taken, RequestPool::most_waiting);
  EXPECT_LE(taken, RequestPool::most_waiting + RequestPool::threads);
  goes_on.set_value();
}

}  // namespace
}  // namespace troika::serve
