#include "http/connection.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace troika::http {
namespace {
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string get_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

// A connection with a handler that echoes the path.
struct Spoken {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Later> later = std::make_shared<Later>();
  int wakes = 0;
  Handler handler = [this](const Request& request) {
    if (request.path == "/throws") throw std::runtime_error("a secret");
    if (request.path == "/stream") return Response{200, {{"content-type", "text/event-stream"}}, "first\n", stream};
    if (request.path == "/later") {
      Response response;
      response.later = later;
      return response;
    }
    return plain_text(200, request.path + request.body);
  };
  Connection connection{handler, [this] { ++wakes; }, {}, {}, 0};

  // All output for the client, taken at once.
  std::string take(double now = 0) {
    std::string all;
    while (!connection.unsent().empty()) {
      all += connection.unsent();
      connection.sent(connection.unsent().size(), now);
    }
    return all;
  }
  std::string say(const std::string& bytes, double now = 0) {
    connection.receive(bytes, now);
    return take(now);
  }
};

TEST(Connection, AnswersAndTakesTheNextRequest) {
  Spoken spoken;
  EXPECT_EQ(spoken.say(get_a),
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 2\r\n\r\n/a");
  EXPECT_FALSE(spoken.connection.over());
  EXPECT_THAT(spoken.say("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"), EndsWith("\r\n\r\n/bhi"));
  EXPECT_FALSE(spoken.connection.over());
}

TEST(Connection, WaitsForAnAnswerThatComesLaterBeforeTheNextRequest) {
  Spoken spoken;
  EXPECT_EQ(spoken.say("GET /later HTTP/1.1\r\nHost: x\r\n\r\n" + get_a), "");
  EXPECT_FALSE(spoken.connection.wants());
  EXPECT_FALSE(spoken.connection.gives_way());
  spoken.connection.expire(1000);
  EXPECT_FALSE(spoken.connection.over());

  spoken.later->give(plain_text(200, "later"));
  spoken.later->give(plain_text(200, "again"));
  EXPECT_EQ(spoken.wakes, 1);
  spoken.connection.feed(1001);
  const std::string told = spoken.take(1001);
  EXPECT_THAT(told, AllOf(HasSubstr("\r\n\r\nlater"), EndsWith("\r\n\r\n/a")));
}

TEST(Connection, WhoeverMakesAnAnswerHearsThatItsClientHasEnded) {
  Spoken spoken;
  spoken.say("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(spoken.connection.awaits());
  EXPECT_FALSE(spoken.later->client_has_ended());
  spoken.connection.client_ends();
  EXPECT_TRUE(spoken.later->client_has_ended());
  EXPECT_TRUE(spoken.later->wanted());
}

TEST(Connection, AClientThatHasSaidEverythingStillGetsTheLaterAnswer) {
  Spoken spoken;
  spoken.say("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  spoken.connection.receive_end(1);
  EXPECT_FALSE(spoken.connection.over());
  spoken.later->give(plain_text(200, "later"));
  spoken.connection.feed(2);
  EXPECT_THAT(spoken.take(2), AllOf(HasSubstr("connection: close"), EndsWith("later")));
  EXPECT_TRUE(spoken.connection.over());
}

TEST(Connection, TellsWhoWorksOnAnAnswerThatNobodyWaitsAnyMore) {
  auto later = std::make_shared<Later>();
  {
    Spoken spoken;
    spoken.later = later;
    spoken.say("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(later->wanted());
  }
  EXPECT_FALSE(later->wanted());
  later->give(plain_text(200, "late"));
  EXPECT_FALSE(later->take().has_value());
}

TEST(Connection, EndsAfterAnAnswerWhereTheClientWantsIt) {
  Spoken spoken;
  EXPECT_THAT(spoken.say("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              HasSubstr("\r\nconnection: close\r\n"));
  EXPECT_TRUE(spoken.connection.over());
}

TEST(Connection, AnswersRequestsThatComeTogetherInOrder) {
  Spoken spoken;
  spoken.connection.receive(get_a + "GET /b HTTP/1.1\r\nHost: x\r\n\r\n", 0);
  EXPECT_FALSE(spoken.connection.wants());
  EXPECT_THAT(std::string(spoken.connection.unsent()), EndsWith("/a"));  // the second when the first is taken
  EXPECT_THAT(spoken.take(), AllOf(HasSubstr("/a"), EndsWith("/b")));
  EXPECT_TRUE(spoken.connection.wants());
}

TEST(Connection, AHandlersErrorIsNotTold) {
  Spoken spoken;
  const std::string answer = spoken.say("GET /throws HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, Not(HasSubstr("secret")));
  EXPECT_THAT(spoken.say(get_a), EndsWith("/a"));
}

TEST(Connection, EndsAfterARefusal) {
  Spoken spoken;
  EXPECT_THAT(spoken.say("PUT / HTTP/1.1\r\nHost: x\r\n\r\n" + get_a),
              AllOf(StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"), HasSubstr("allow: GET, POST\r\n"),
                    HasSubstr("connection: close\r\n"), Not(HasSubstr("/a"))));
  EXPECT_TRUE(spoken.connection.over());
}

TEST(Connection, ASlowRequestHasTenSecondsForItsHeadAndTenForItsBody) {
  Spoken spoken;
  spoken.connection.expire(59);
  spoken.connection.receive("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n", 59.5);
  spoken.connection.receive("X: y\r\n", 65);  // another byte is no more time
  spoken.connection.expire(69.4);
  EXPECT_TRUE(spoken.connection.unsent().empty());
  spoken.connection.receive("\r\n", 69.4);
  spoken.connection.expire(79.3);
  EXPECT_TRUE(spoken.connection.unsent().empty());
  spoken.connection.expire(79.5);
  EXPECT_THAT(spoken.take(), StartsWith("HTTP/1.1 408 "));
  EXPECT_TRUE(spoken.connection.over());
}

TEST(Connection, ASilentClientIsLeftAfterAMinute) {
  Spoken spoken;
  spoken.say(get_a, 30);
  EXPECT_TRUE(spoken.connection.gives_way());
  spoken.connection.expire(89);
  EXPECT_FALSE(spoken.connection.over());
  spoken.connection.expire(90);
  EXPECT_TRUE(spoken.connection.over());
}

TEST(Connection, AClientThatDoesNotReadIsLeft) {
  Spoken spoken;
  spoken.connection.receive(get_a, 10);
  EXPECT_FALSE(spoken.connection.gives_way());
  spoken.connection.sent(1, 39);
  spoken.connection.expire(39.9);
  EXPECT_FALSE(spoken.connection.over());
  spoken.connection.expire(40);
  EXPECT_TRUE(spoken.connection.over());
}

TEST(Connection, AClientThatEndsItsSideStillGetsItsAnswer) {
  Spoken spoken;
  spoken.connection.receive(get_a, 0);
  spoken.connection.receive_end(0);
  EXPECT_FALSE(spoken.connection.over());
  EXPECT_THAT(spoken.take(), EndsWith("/a"));
  EXPECT_TRUE(spoken.connection.over());
}

TEST(Connection, AStreamIsFedLaterAndEndsTheConnection) {
  Spoken spoken;
  spoken.stream = std::make_shared<Stream>();
  EXPECT_TRUE(spoken.stream->write("before "));
  const std::string head = spoken.say("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(head, AllOf(HasSubstr("connection: close\r\n"), Not(HasSubstr("content-length")),
                          EndsWith("\r\n\r\nfirst\nbefore ")));
  EXPECT_FALSE(spoken.connection.over());
  EXPECT_FALSE(spoken.connection.gives_way());
  spoken.connection.expire(1000);
  EXPECT_FALSE(spoken.connection.over());  // without news it lasts
  EXPECT_EQ(spoken.say(get_a, 1000), "");  // requests behind it are not heard
  EXPECT_TRUE(spoken.stream->write("news"));
  EXPECT_EQ(spoken.wakes, 1);
  spoken.connection.feed(1001);
  EXPECT_EQ(spoken.take(1001), "news");
  EXPECT_TRUE(spoken.stream->write("last"));
  spoken.stream->finish();
  spoken.connection.feed(1002);
  EXPECT_FALSE(spoken.connection.over());
  EXPECT_EQ(spoken.take(1002), "last");
  EXPECT_TRUE(spoken.connection.over());
}

TEST(Connection, AStreamIsToldThatItsClientIsGone) {
  const auto stream = std::make_shared<Stream>();
  {
    Spoken spoken;
    spoken.stream = stream;
    spoken.say("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(stream->open());
    spoken.connection.receive_end(1);
    EXPECT_TRUE(spoken.connection.over());
    EXPECT_FALSE(stream->open());
    EXPECT_FALSE(stream->write("x"));
  }
  EXPECT_FALSE(stream->write("x"));
}

TEST(Stream, AClientThatDoesNotKeepUpIsLeft) {
  Stream stream(10);
  EXPECT_TRUE(stream.write("0123456789"));
  EXPECT_FALSE(stream.write("x"));
  EXPECT_FALSE(stream.open());
  EXPECT_TRUE(stream.finished());
  EXPECT_EQ(stream.take(), "");
}

}  // namespace
}  // namespace troika::http
