#include "comm/tcp_greeting.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "host/network.h"
#include "rendezvous/identity.h"
#include "rendezvous/wire.h"

namespace troika::comm {
namespace {
namespace wire = rendezvous::wire;
using rendezvous::nonce_bytes;
using rendezvous::proof_bytes;

constexpr std::string_view greeting = "TROIKAm1";
constexpr std::size_t hello_bytes = greeting.size() + nonce_bytes;
constexpr std::size_t most_call_bytes = 1024;
constexpr double patience_seconds = 10;  // with a guest
constexpr std::size_t most_guests = 1024;

std::string hello(const std::string& nonce) { return std::string(greeting) + nonce; }

std::string text_of(const TcpCall& call) {
  std::string text;
  wire::put_text(text, call.group);
  wire::put_u32(text, static_cast<std::uint32_t>(call.from));
  wire::put_u32(text, static_cast<std::uint32_t>(call.to));
  return text;
}

bool take_call(std::string_view& from, TcpCall* call) {
  std::string_view group;
  std::uint32_t caller = 0, called = 0;
  if (!wire::take_text(from, &group) || !wire::take_u32(from, &caller) || !wire::take_u32(from, &called)) return false;
  *call = {std::string(group), static_cast<int>(caller), static_cast<int>(called)};
  return true;
}

// A launch without secret and id, as in tests, needs no proof.
std::string proof_of(const std::string& key, rendezvous::Prover prover, std::string_view client_nonce,
                     std::string_view server_nonce, const TcpCall& call) {
  const std::string made = rendezvous::proof(key, prover, client_nonce, server_nonce, text_of(call));
  return made.empty() ? std::string(proof_bytes, '\0') : made;
}

bool receive_all(rendezvous::Socket& socket, std::size_t bytes, double until, std::string* into) {
  into->clear();
  while (into->size() < bytes) {
    if (socket.receive(*into, bytes - into->size(), until) != rendezvous::Socket::Received::some) return false;
  }
  return true;
}

}  // namespace

Greeted greet(rendezvous::Socket& socket, const std::string& key, const TcpCall& call, double until) {
  const std::string mine = rendezvous::new_nonce();
  std::string theirs, answer;
  if (!socket.send_all(hello(mine), until) || !receive_all(socket, hello_bytes, until, &theirs)) return Greeted::no_answer;
  if (theirs.compare(0, greeting.size(), greeting) != 0) return Greeted::foreign;
  theirs.erase(0, greeting.size());
  if (!socket.send_all(text_of(call) + proof_of(key, rendezvous::Prover::client, mine, theirs, call), until))
    return Greeted::no_answer;
  const bool answered = receive_all(socket, proof_bytes, until, &answer);
  const bool proved = rendezvous::equal_proofs(answer, proof_of(key, rendezvous::Prover::server, mine, theirs, call));
  return answered && proved ? Greeted::taken : Greeted::foreign;
}

// A peer that has connected and is not known yet.
class TcpListener::Guest : public TcpLoop::Watched {
 public:
  Guest(TcpListener& host, int socket) : host_(host.shared_from_this()), socket_(socket), since_(base::monotonic_seconds()) {
    ++host_->guests_;
  }
  ~Guest() override {
    close();
    --host_->guests_;
  }

  void start(TcpLoop& loop, const std::shared_ptr<Guest>& self) {
    loop_ = &loop;
    const std::string mine = hello(nonce_);
    if (::send(socket_, mine.data(), mine.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(mine.size()))
      id_ = loop.add(socket_, EPOLLIN, self);
  }

  void on_events(std::uint32_t) override {
    while (socket_ >= 0) {
      char block[most_call_bytes];
      const ssize_t got = ::recv(socket_, block, sizeof block, MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (got <= 0) return close();
      heard_.append(block, static_cast<std::size_t>(got));
      if (!listen()) return;
    }
  }
  void on_tick(double now) override {
    if (now - since_ > patience_seconds) close();
  }

 private:
  // False: this guest is no longer one.
  bool listen() {
    const std::size_t compared = std::min(heard_.size(), greeting.size());
    if (heard_.size() > most_call_bytes || greeting.substr(0, compared) != heard_.substr(0, compared)) return close(), false;
    if (heard_.size() < hello_bytes) return true;
    const std::string theirs = heard_.substr(greeting.size(), nonce_bytes);
    std::string_view rest = std::string_view(heard_).substr(hello_bytes);
    TcpCall call;
    if (!take_call(rest, &call) || rest.size() < proof_bytes) return true;
    if (rest.size() > proof_bytes ||
        !rendezvous::equal_proofs(rest, proof_of(host_->key_, rendezvous::Prover::client, theirs, nonce_, call)))
      return close(), false;
    loop_->remove(id_, socket_);
    const int socket = std::exchange(socket_, -1);
    const std::string answer = proof_of(host_->key_, rendezvous::Prover::server, theirs, nonce_, call);
    const bool told = ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(answer.size());
    const std::lock_guard<std::mutex> lock(host_->mutex_);
    if (!told || host_->stopped_ || !host_->known_.emplace(call, socket).second) ::close(socket);
    host_->came_.notify_all();
    return false;
  }
  void close() {
    if (socket_ < 0) return;
    if (id_ != 0) loop_->remove(id_, socket_);
    ::close(std::exchange(socket_, -1));
  }

  const std::shared_ptr<TcpListener> host_;
  int socket_;
  const double since_;
  const std::string nonce_ = rendezvous::new_nonce();
  std::string heard_;
  TcpLoop* loop_ = nullptr;
  TcpLoop::Id id_ = 0;
};

TcpListener::TcpListener(const std::string& address, std::string key) : key_(std::move(key)) {
  constexpr int waiting = 4096;
  base::Descriptor listener = host::socket_at(SOCK_STREAM | SOCK_NONBLOCK, address, 0, waiting);
  if (!listener)
    throw base::ConfigError(
        base::say("cannot listen on {}: {}; set comm.interface to the interface that reaches the other hosts", address,
                    base::system_cause(errno)),
        base::Cause::wrong_address);
  listener_ = listener.release();
  port_ = host::port_of(listener_);
}

TcpListener::~TcpListener() {
  for (const auto& [call, socket] : known_) ::close(socket);
  if (listener_ >= 0) ::close(listener_);
}

void TcpListener::start(TcpLoop& loop) {
  loop_ = &loop;
  id_ = loop.add(listener_, EPOLLIN, shared_from_this());
}

void TcpListener::stop() {
  loop_->remove(id_, listener_);
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
}

int TcpListener::take(const TcpCall& call, double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!came_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return known_.count(call) > 0; })) return -1;
  const int socket = known_.at(call);
  known_.erase(call);
  return socket;
}

void TcpListener::on_events(std::uint32_t) {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0 && errno == EINTR) continue;
    if (socket < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      // The listener stays readable, so it is looked away from for a tick.
      accepts_again_at_ = base::monotonic_seconds() + 0.1;
      loop_->change(id_, listener_, 0);
    }
    if (socket < 0) return;
    if (guests_ >= most_guests) {
      ::close(socket);
      continue;
    }
    rendezvous::set_options(socket);
    const auto guest = std::make_shared<Guest>(*this, socket);
    guest->start(*loop_, guest);
  }
}

void TcpListener::on_tick(double now) {
  if (accepts_again_at_ == 0 || now < accepts_again_at_) return;
  accepts_again_at_ = 0;
  loop_->change(id_, listener_, EPOLLIN);
}

}  // namespace troika::comm
