// A slow answer, computed on another thread than the server's.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace troika::http {

struct Response;

// Whoever has been asked gives the answer once, the server sends it. The client waits as long as that takes. Threads: any.
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

}  // namespace troika::http
