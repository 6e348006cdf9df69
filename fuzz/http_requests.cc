// What clients of the HTTP server send, in pieces of any length and at any pace.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "http/connection.h"

namespace troika::fuzz {
namespace {

void require_request(const http::Request& request) {
  const auto visible = [](std::string_view text) {
    for (const char c : text) require(c > 0x20 && c < 0x7f, "path and query are visible ASCII");
  };
  visible(request.path);
  visible(request.query);
  require(!request.path.empty() && request.path.front() == '/', "a path begins with a slash");
  require(request.headers.size() <= http::RequestLimits{}.headers, "headers are counted");
  require(request.body.size() <= http::RequestLimits{}.body_bytes, "a body has a limit");
  std::size_t bytes = 0;
  for (const http::Header& header : request.headers) {
    require(!header.name.empty(), "a header has a name");
    require(header.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos, "values are one line");
    bytes += header.name.size() + header.value.size();
  }
  require(bytes <= http::RequestLimits{}.head_bytes, "a head has a limit");
}

// The same bytes at once and one by one are the same request.
void require_equal_pieces(std::string_view bytes) {
  http::RequestParser whole, pieces;
  std::size_t used = 0;
  const std::size_t at_once = whole.take(bytes);
  while (used < bytes.size() && pieces.take(bytes.substr(used, 1)) == 1) ++used;
  require(whole.state() == pieces.state() && at_once == used, "pieces change nothing");
  if (whole.state() != http::RequestParser::State::complete) return;
  require_request(whole.request());
  require(whole.request().path == pieces.request().path && whole.request().body == pieces.request().body,
          "pieces change no request");
}

}  // namespace
}  // namespace troika::fuzz

// A byte says what happens; for most values it is how many of the bytes that follow are sent.
TROIKA_FUZZ_TARGET(http_requests)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  fuzz::require_equal_pieces(fuzz::text_of(data, size));
  std::string_view input = fuzz::text_of(data, size);
  double now = 0;
  const auto stream = std::make_shared<http::Stream>(64);
  auto later = std::make_shared<http::Later>();
  const http::Handler handler = [&](const http::Request& request) {
    fuzz::require_request(request);
    if (request.path == "/stream") return http::Response{200, {}, "", stream};
    if (request.path == "/later") {
      http::Response response;
      response.later = later = std::make_shared<http::Later>();
      return response;
    }
    return http::plain_text(200, request.path);
  };
  std::optional<http::Connection> connection;
  const auto begin = [&] {
    connection.emplace(
        handler, [] {}, http::RequestLimits{}, http::Patience{}, now);
  };
  begin();
  while (!input.empty()) {
    const auto what = static_cast<std::uint8_t>(input[0]);
    input.remove_prefix(1);
    if (what >= 0xf8) {
      connection->receive_end(now);
    } else if (what >= 0xf0) {
      now += what - 0xe8;
      connection->expire(now);
    } else if (what == 0xef) {
      later->give(http::plain_text(200, "later"));
      connection->feed(now);
    } else if (what >= 0xe8) {
      stream->write(input.substr(0, what - 0xe7));
      connection->feed(now);
    } else if (what >= 0xd0) {
      connection->sent(std::min<std::size_t>(connection->unsent().size(), what - 0xcf), now);
    } else if (connection->wants()) {
      connection->receive(input.substr(0, what), now);
      input.remove_prefix(std::min<std::size_t>(what, input.size()));
    }
    if (connection->over()) begin();
  }
  return 0;
}
