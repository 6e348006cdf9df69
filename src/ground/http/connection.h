// The protocol of one client's connection, apart from its socket and the clock: bytes in, bytes out.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/request_parser.h"

namespace troika::http {

// Answers at once, or with an answer that comes later. What it throws becomes a 500 without its text.
using Handler = std::function<Response(const Request&)>;

// Seconds.
struct Patience {
  double request = 10;  // for a head, and for a body, from its first byte
  double idle = 60;     // between requests
  double answer = 30;   // for a client to take an answer, or a piece of a stream
};

// Requests are answered one after the other, the next one when the client has taken the last answer. `now` is one monotonic clock.
// Threads: one, apart from streams.
class Connection {
 public:
  // `handler` must outlive the connection. `wake` is called from any thread when a stream has news or an answer has come: then
  // feed() is due.
  Connection(const Handler& handler, std::function<void()> wake, const RequestLimits& limits, const Patience& patience,
             double now);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Whether bytes are wanted now; others may wait in the socket.
  bool wants() const { return (out_.empty() && later_ == nullptr) || stream_ != nullptr; }
  void receive(std::string_view bytes, double now);
  void receive_end(double now);  // the client sends no more; it may still read
  // Whether an answer is to come, whose maker may hear that the client has ended its side. Says so to him.
  bool awaits() const { return later_ != nullptr; }
  void client_ends();

  std::string_view unsent() const { return std::string_view(out_).substr(out_begin_); }
  void sent(std::size_t count, double now);
  void feed(double now);    // takes what a stream has, or an answer that has come
  void expire(double now);  // the client has been slow for too long

  bool streams() const { return stream_ != nullptr; }
  bool over() const { return over_ && out_.empty() && stream_ == nullptr && later_ == nullptr; }  // to be closed
  // A client that has asked for nothing yet, or not to the end: it may be closed for another one, who waits longest first.
  bool gives_way() const { return stream_ == nullptr && later_ == nullptr && out_.empty(); }
  double waits_since() const { return since_; }

 private:
  void proceed(double now);
  void ask(double now);
  void answer(Response response, double now);
  void put(std::string bytes, double now);
  void refuse(int status, const std::string& why, double now);
  void end_stream();
  void leave_later();
  void drop_answer();

  const Handler& handler_;
  const std::function<void()> wake_;
  const RequestLimits limits_;
  const Patience patience_;
  RequestParser parser_;
  std::string in_, out_;
  std::size_t out_begin_ = 0;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<Later> later_;
  Afterwards afterwards_ = Afterwards::keep;  // the answer that is due
  bool over_ = false;                         // no request is taken any more
  double since_;  // of what is waited for: a request, the rest of it, or the client's reading
};

}  // namespace troika::http
