// HTTP requests and responses, and what of a response comes later.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troika::http {

// The rest of an answer that comes over time, such as server-sent events. Whoever makes news writes, the server sends. Threads: any.
class Stream {
 public:
  // A client that lets so many bytes wait is left.
  explicit Stream(std::size_t most_waiting_bytes = std::size_t{1} << 20) : most_waiting_bytes_(most_waiting_bytes) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // False when nobody reads any more: the client or the server is gone, or it does not keep up.
  bool write(std::string_view bytes);
  void finish();  // what was written is sent, then the connection ends
  bool open() const;

  // For the connection that sends it.
  void on_news(std::function<void()> wake);  // called after write() and finish(), from their threads; empty: no longer
  std::string take();                        // what has been written since
  bool finished() const;                     // nothing more comes
  void leave();                              // nobody reads any more

 private:
  void wake() const;

  const std::size_t most_waiting_bytes_;
  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::string waiting_;
  bool finished_ = false, left_ = false;
};

struct Response;

// A slow answer, computed on another thread than the server's. Whoever has been asked gives the answer once, the server sends it. The client waits as long as that takes. Threads: any.
class Later {
 public:
  Later();
  ~Later();
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;

  void give(Response response);  // only the first counts; one that is itself to come later becomes a 500
  bool wanted() const;           // false: the client or the server is gone
  // The client says no more, as one that goes away does; one that only has said everything still reads the answer.
  bool client_has_ended() const;

  // For the connection that sends it.
  void on_news(std::function<void()> wake);  // called after give(), from its thread; empty: no longer
  std::optional<Response> take();
  void leave();  // nobody waits any more
  void client_ends();

 private:
  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::unique_ptr<Response> given_;
  bool answered_ = false, left_ = false, client_has_ended_ = false;
};

enum class Method { get, post };

struct Header {
  std::string name, value;
};

// Within the limits of request_parser.h. Bytes are those of the client: nothing is decoded.
struct Request {
  Method method = Method::get;
  std::string path;             // begins with '/'; visible ASCII
  std::string query;            // behind the first '?'; visible ASCII
  std::vector<Header> headers;  // names in lower case, in order; values are bytes without control characters but tabs
  std::string body;

  // The value of the first header of that name (in lower case), or "".
  std::string_view header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::vector<Header> headers{};  // besides content-length and connection
  std::string body{};
  std::shared_ptr<Stream> stream{};  // what follows the body, until it is finished; null: nothing
  std::shared_ptr<Later> later{};    // gives the answer, and nothing else here counts; null: this is the answer
};

Response plain_text(int status, std::string text);
Response refusal_text(int status, std::string text);  // of the server itself; no browser takes it for a page
std::string_view reason_of(int status);               // "Not Found"; "" for one that is not used here

// Status line and headers. keep: whether the connection takes another request; a response with a stream ends with it.
enum class Afterwards { keep, close };
std::string head_of(const Response& response, Afterwards afterwards);

}  // namespace troika::http
