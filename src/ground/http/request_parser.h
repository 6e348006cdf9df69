// Bytes of a client to a request. RFC 9112 read strictly, so that nobody behind or before this parser can read the same bytes
// as another request: lines end in CR LF, names have no space behind them, one Host, one Content-Length of digits. GET and POST of
// HTTP/1.1 and 1.0 with a path; no transfer codings (so no chunks), no Expect, no proxy's requests. Ranges are not looked at, which
// RFC 9110 allows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "http/message.h"

namespace troika::http {

struct RequestLimits {
  std::size_t head_bytes = 16 << 10;  // request line and headers
  std::size_t headers = 100;
  std::size_t body_bytes = 64 << 10;
};

// One request, in pieces of any size. Holds at most the limits' bytes. Threads: one.
class RequestParser {
 public:
  explicit RequestParser(const RequestLimits& limits = {}) : limits_(limits) {}

  enum class State { head, body, complete, refused };
  State state() const { return state_; }

  // Takes from the front what belongs to this request; returns how many bytes that is. Takes nothing once it is complete or refused.
  std::size_t take(std::string_view bytes);

  bool begun() const { return state_ != State::head || !head_.empty(); }
  const Request& request() const { return request_; }    // when complete
  Afterwards afterwards() const { return afterwards_; }  // as the client wants it
  int refused_with() const { return refused_with_; }     // a status, when refused
  const std::string& why_refused() const { return why_refused_; }

 private:
  std::size_t take_head(std::string_view bytes);
  void read_head();
  bool read_request_line(std::string_view line);
  bool read_header(std::string_view line);
  bool settle_body();
  bool settle_host();
  bool refuse(int status, const char* why);

  RequestLimits limits_;
  State state_ = State::head;
  std::string head_;
  std::size_t body_bytes_ = 0;
  bool is_1_0_ = false;
  Request request_;
  Afterwards afterwards_ = Afterwards::keep;
  int refused_with_ = 0;
  std::string why_refused_;
};

}  // namespace troika::http
