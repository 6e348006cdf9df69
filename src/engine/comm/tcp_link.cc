#include "comm/tcp_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/say.h"
#include "base/cause.h"
#include "rendezvous/socket.h"

namespace troika::comm {

static constexpr std::size_t buffer_bytes = 4096;
static constexpr std::size_t most_at_once = std::size_t{1} << 20;  // in one call, so that a lock is not held for long

TcpLink::TcpLink(int socket, int rank, int peer_rank)
    : rank_(rank),
      peer_rank_(peer_rank),
      address_(rendezvous::peer_address(socket)),
      socket_(socket),
      buffer_(buffer_bytes) {
  // A peer that is stopped for a while takes nothing and comes back; heartbeats tell of one that does not.
  const unsigned without_end = 0;
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &without_end, sizeof without_end);
}

TcpLink::~TcpLink() {
  if (socket_ >= 0) ::close(socket_);
}

void TcpLink::start(TcpLoop& loop) {
  const std::lock_guard<std::mutex> lock(mutex_);
  loop_ = &loop;
  watched_ = EPOLLIN;
  id_ = loop.add(socket_, watched_, shared_from_this());
}

void TcpLink::post(const std::shared_ptr<TcpMessage>& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  message->error = error_;
  if (!error_.empty()) return;
  if (message->direction == Direction::recv) {
    receives_[message->tag].push_back(message);
    outgoing_.push_back({{Kind::ready, message->tag, message->bytes}, nullptr});
  } else if (auto& wanted = ready_[message->tag]; !wanted.empty()) {
    const std::uint64_t bytes = wanted.front();
    wanted.pop_front();
    meet(message, bytes);
  } else {
    sends_[message->tag].push_back(message);
  }
  flush();
}

void TcpLink::meet(const std::shared_ptr<TcpMessage>& send, std::uint64_t wanted) {
  if (send->bytes != wanted) {
    send->error = base::say("rank {} sends {} bytes but rank {} receives {}", rank_, send->bytes, peer_rank_, wanted);
    outgoing_.push_back({{Kind::refused, send->tag, send->bytes}, nullptr});
    changed_.notify_all();
  } else {
    outgoing_.push_back({{Kind::data, send->tag, send->bytes}, send});
  }
}

bool TcpLink::wait(const TcpMessage& message, double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto ended = [&] { return message.done || !message.error.empty(); };
  if (std::isinf(seconds)) {
    changed_.wait(lock, ended);
    return true;
  }
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), ended);
}

void TcpLink::end(const base::Text& error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  break_off(error);
}

void TcpLink::break_off(const base::Text& error) {
  if (!error_.empty()) return;
  error_ = error;
  if (loop_ != nullptr) loop_->remove(id_, socket_);
  const auto fail = [&](TcpMessage& message) {
    if (message.error.empty()) message.error = error;
  };
  for (auto* all : {&sends_, &receives_}) {
    for (auto& [tag, messages] : *all) {
      for (auto& message : messages) fail(*message);
    }
    all->clear();
  }
  for (Outgoing& one : outgoing_) {
    if (one.message != nullptr) fail(*one.message);
  }
  outgoing_.clear();
  if (incoming_ != nullptr) fail(*incoming_);
  incoming_ = nullptr;
  changed_.notify_all();
}

void TcpLink::finish(TcpMessage& message) {
  message.done = true;
  changed_.notify_all();
}

void TcpLink::watch() {
  const std::uint32_t wanted = outgoing_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  if (wanted == watched_ || loop_ == nullptr) return;
  watched_ = wanted;
  loop_->change(id_, socket_, wanted);
}

void TcpLink::flush() {
  while (error_.empty() && !outgoing_.empty()) {
    // Heads that follow each other go in one call, up to the first that has bytes behind it.
    std::array<iovec, 32> parts{};
    std::size_t count = 0;
    for (Outgoing& one : outgoing_) {
      if (count + 2 > parts.size()) break;
      auto* head = reinterpret_cast<std::byte*>(&one.head);
      if (one.sent < sizeof(Head)) parts[count++] = {head + one.sent, sizeof(Head) - one.sent};
      if (one.message == nullptr || one.message->bytes == 0) continue;
      const std::size_t begin = std::max(one.sent, sizeof(Head)) - sizeof(Head);
      parts[count++] = {one.message->data + begin, std::min<std::size_t>(one.message->bytes - begin, most_at_once)};
      break;
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (sent < 0) return break_off(base::say("{} [{}]", base::system_cause(errno), address_));
    auto left = static_cast<std::size_t>(sent);
    while (left > 0) {
      Outgoing& one = outgoing_.front();
      const std::size_t whole = sizeof(Head) + (one.message == nullptr ? 0 : one.message->bytes);
      const std::size_t taken = std::min(left, whole - one.sent);
      one.sent += taken;
      left -= taken;
      if (one.sent < whole) continue;
      if (one.message != nullptr) finish(*one.message);
      outgoing_.pop_front();
    }
  }
  if (error_.empty()) watch();
}

void TcpLink::on_events(std::uint32_t events) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!error_.empty()) return;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive();
  if (error_.empty()) flush();
}

void TcpLink::receive() {
  for (std::size_t taken = 0; taken < most_at_once;) {
    std::array<iovec, 2> parts{};
    std::size_t count = 0, direct = 0;
    if (incoming_ != nullptr) {
      direct = std::min<std::size_t>(incoming_->bytes - arrived_, most_at_once);
      parts[count++] = {incoming_->data + arrived_, direct};
    }
    if (incoming_ == nullptr || arrived_ + direct == incoming_->bytes)
      parts[count++] = {buffer_.data() + buffered_, buffer_.size() - buffered_};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t got = ::recvmsg(socket_, &message, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0) return break_off(base::say("{} [{}]", base::system_cause(errno), address_));
    if (got == 0) return break_off(base::say("Connection closed by peer [{}]", address_));
    taken += static_cast<std::size_t>(got);
    const std::size_t given = std::min(direct, static_cast<std::size_t>(got));
    buffered_ += static_cast<std::size_t>(got) - given;
    if (incoming_ != nullptr) give(given);
    if (!take_heads()) return;
  }
}

void TcpLink::give(std::size_t bytes) {
  arrived_ += bytes;
  if (arrived_ < incoming_->bytes) return;
  finish(*incoming_);
  incoming_ = nullptr;
}

bool TcpLink::take_heads() {
  std::size_t at = 0;
  while (error_.empty() && incoming_ == nullptr && buffered_ - at >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, buffer_.data() + at, sizeof head);
    at += sizeof head;
    if (!take(head)) return false;
    if (incoming_ == nullptr) continue;
    const std::size_t here = std::min<std::size_t>(buffered_ - at, incoming_->bytes);
    std::memcpy(incoming_->data, buffer_.data() + at, here);
    at += here;
    give(here);
  }
  std::memmove(buffer_.data(), buffer_.data() + at, buffered_ - at);
  buffered_ -= at;
  return error_.empty();
}

bool TcpLink::take(const Head& head) {
  if (head.kind == Kind::ready) {
    if (auto& waiting = sends_[head.tag]; !waiting.empty()) {
      const auto send = waiting.front();
      waiting.pop_front();
      meet(send, head.bytes);
    } else {
      ready_[head.tag].push_back(head.bytes);
    }
    return true;
  }
  auto& waiting = receives_[head.tag];
  const bool known = head.kind == Kind::data || head.kind == Kind::refused;
  if (!known || waiting.empty() || (head.kind == Kind::data && waiting.front()->bytes != head.bytes)) {
    break_off(base::say("rank {} at [{}] sent an unexpected message", peer_rank_, address_));
    return false;
  }
  const auto message = waiting.front();
  waiting.pop_front();
  if (head.kind == Kind::refused) {
    message->error =
        base::say("rank {} sends {} bytes but rank {} receives {}", peer_rank_, head.bytes, rank_, message->bytes);
    changed_.notify_all();
    return true;
  }
  incoming_ = message;
  arrived_ = 0;
  return true;
}

}  // namespace troika::comm
