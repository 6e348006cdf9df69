// The rest of an answer that comes over time, such as server-sent events.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace troika::http {

// Whoever makes news writes, the server sends. Threads: any.
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

}  // namespace troika::http
