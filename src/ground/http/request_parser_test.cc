#include "http/request_parser.h"

#include <gmock/gmock.h>

#include <string>

namespace troika::http {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = RequestParser::State;

RequestParser parsed(std::string_view bytes) {
  RequestParser parser;
  parser.take(bytes);
  return parser;
}

int status_of(std::string_view bytes) {
  const RequestParser parser = parsed(bytes);
  return parser.state() == State::refused ? parser.refused_with() : 0;
}

int status_of_header(const std::string& header) {
  return status_of("GET / HTTP/1.1\r\nHost: a\r\n" + header + "\r\n\r\n");
}

const std::string post =
    "POST /p?a=1&b HTTP/1.1\r\nHost: a:9400\r\nContent-Length: 5\r\nX-Two:  words of it \t\r\n\r\nhello";

TEST(RequestParser, ReadsARequestInPiecesOfAnySize) {
  for (std::size_t piece = 1; piece <= post.size(); ++piece) {
    RequestParser parser;
    for (std::size_t at = 0; at < post.size(); at += piece) {
      const std::string_view bytes = std::string_view(post).substr(at, piece);
      ASSERT_EQ(parser.take(bytes), bytes.size());
    }
    ASSERT_EQ(parser.state(), State::complete) << piece;
    const Request& request = parser.request();
    EXPECT_EQ(request.method, Method::post);
    EXPECT_EQ(request.path, "/p");
    EXPECT_EQ(request.query, "a=1&b");
    EXPECT_EQ(request.header("host"), "a:9400");
    EXPECT_EQ(request.header("x-two"), "words of it");
    EXPECT_EQ(request.header("absent"), "");
    EXPECT_EQ(request.body, "hello");
    EXPECT_EQ(parser.afterwards(), Afterwards::keep);
  }
}

TEST(RequestParser, LeavesWhatBelongsToTheNextRequest) {
  RequestParser parser;
  EXPECT_EQ(parser.take(post + "GET /"), post.size());
  EXPECT_EQ(parser.take("GET /"), 0u);
}

TEST(RequestParser, AConnectionEndsWhereTheClientWantsIt) {
  EXPECT_EQ(parsed("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, Close\r\n\r\n").afterwards(), Afterwards::close);
  EXPECT_EQ(parsed("GET / HTTP/1.0\r\n\r\n").afterwards(), Afterwards::close);
  EXPECT_EQ(parsed("GET / HTTP/1.0\r\n\r\n").state(), State::complete);
}

TEST(RequestParser, RefusesRequestLinesThatAreNone) {
  EXPECT_EQ(status_of("\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\n"), 400);     // no CR
  EXPECT_EQ(status_of("GET /\rHTTP/1.1\r\n"), 400);  // no LF
  EXPECT_EQ(status_of("\x16\x03\x01\x02"), 400);     // TLS, at its first byte
  EXPECT_EQ(status_of("GET  / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1 \r\n\r\n"), 400);
  EXPECT_EQ(status_of(" GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / http/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET metrics HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);  // a proxy's
  EXPECT_EQ(status_of("GET /#x HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  for (const char* method : {"HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "X"})
    EXPECT_EQ(status_of(std::string(method) + " / HTTP/1.1\r\nHost: a\r\n\r\n"), 405) << method;
}

TEST(RequestParser, RefusesHeadersThatTwoReadersCouldReadInTwoWays) {
  EXPECT_EQ(status_of_header("Name : value"), 400);
  EXPECT_EQ(status_of_header(" folded"), 400);
  EXPECT_EQ(status_of_header("no colon"), 400);
  EXPECT_EQ(status_of_header(": no name"), 400);
  EXPECT_EQ(status_of_header(std::string("X: a\0b", 6)), 400);
  EXPECT_EQ(status_of_header("X: a\x1b[1m"), 400);
  EXPECT_EQ(status_of_header("Host: b"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);  // no Host
  EXPECT_EQ(status_of_header("Content-Length: 1\r\nContent-Length: 1"), 400);
  for (const char* length : {"", "-1", "+1", "0x1", "1, 1", "1 1", "1.0"})
    EXPECT_EQ(status_of_header(std::string("Content-Length: ") + length), 400) << length;
  EXPECT_EQ(status_of_header("Transfer-Encoding: chunked"), 501);
  EXPECT_EQ(status_of_header("Content-Length: 3\r\nTransfer-Encoding: chunked"), 501);
  EXPECT_EQ(status_of_header("Expect: 100-continue"), 417);
  EXPECT_EQ(status_of_header("X: \xff\xfe"), 0);  // bytes that mean nothing here
  EXPECT_EQ(status_of_header("Range: bytes=0-1"), 0);
}

TEST(RequestParser, HasLimits) {
  EXPECT_EQ(status_of_header("Content-Length: 65536"), 0);
  EXPECT_EQ(status_of_header("Content-Length: 65537"), 413);
  EXPECT_EQ(status_of_header("Content-Length: 99999999999999999999"), 413);
  EXPECT_EQ(status_of("GET /" + std::string(16384, 'a')), 431);
  EXPECT_EQ(status_of("GET /" + std::string(16384 - 5, 'a')), 0);
  std::string many;
  for (int i = 0; i < 99; ++i) many += "a: b\r\n";
  EXPECT_EQ(status_of_header(many + "a: b"), 431);  // the 101st, with Host
  EXPECT_EQ(status_of_header(many.substr(0, many.size() - 2)), 0);
}

TEST(RequestParser, TellsWhyItRefuses) {
  RequestParser parser = parsed("GET / HTTP/1.1\n");
  EXPECT_THAT(parser.why_refused(), HasSubstr("CR LF"));
  EXPECT_EQ(parser.take("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 0u);
  EXPECT_EQ(parser.state(), State::refused);
}

}  // namespace
}  // namespace troika::http
