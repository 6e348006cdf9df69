// What the other rank of a connection sends, in pieces of any length, while messages of this one are posted.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "comm/tcp_link.h"
#include "fuzz/input.h"
#include "fuzz/outcome.h"

namespace troika::fuzz {
namespace {

// A link, and the other end of its socket. The sanitizer watches the memory of every message.
class Pair {
 public:
  Pair() {
    int ends[2] = {-1, -1};
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0, "a pair of sockets is made");
    link_ = std::make_shared<comm::TcpLink>(ends[0], 0, 1);
    peer_ = ends[1];
  }
  ~Pair() {
    link_->end(base::verbatim("the test is over"));
    for (const auto& message : messages_) require(message->done || !message->error.empty(), "every message has an end");
    ::close(peer_);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void send(std::string_view bytes) {
    if (::send(peer_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) link_->on_events(EPOLLIN);
  }
  void read() {
    char block[4096];
    while (::recv(peer_, block, sizeof block, MSG_DONTWAIT) > 0) {
    }
    link_->on_events(EPOLLOUT);
  }
  void post(comm::Direction direction, std::uint32_t tag, std::size_t bytes) {
    memory_.push_back(std::make_unique<std::byte[]>(std::max<std::size_t>(bytes, 1)));
    const auto message = std::make_shared<comm::TcpMessage>();
    message->direction = direction;
    message->data = memory_.back().get();
    message->bytes = bytes;
    message->tag = tag;
    messages_.push_back(message);
    link_->post(message);
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::shared_ptr<comm::TcpMessage>> messages_;
  std::shared_ptr<comm::TcpLink> link_;
  int peer_ = -1;
};

}  // namespace
}  // namespace troika::fuzz

// A byte says what is done, the next how many of the bytes that follow are sent, or how large a message is.
TROIKA_FUZZ_TARGET(tcp_messages)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  std::string_view input = fuzz::text_of(data, size);
  fuzz::Pair pair;
  while (input.size() >= 2) {
    const auto what = static_cast<std::uint8_t>(input[0]);
    const std::size_t count = static_cast<std::uint8_t>(input[1]);
    input.remove_prefix(2);
    if (what >= 0xc0) {
      pair.read();
    } else if (what >= 0x60) {
      pair.post(what % 2 == 0 ? comm::Direction::send : comm::Direction::recv, what % 4 / 2, what >= 0xb0 ? count * 64 : count);
    } else {
      pair.send(input.substr(0, count));
      input.remove_prefix(std::min(count, input.size()));
    }
  }
  return 0;
}
