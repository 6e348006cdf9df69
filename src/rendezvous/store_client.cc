#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "rendezvous/socket.h"
#include "rendezvous/store.h"
#include "rendezvous/store_protocol.h"

namespace troika::rendezvous {
using base::monotonic_seconds;
using wire::Operation;
using wire::Status;

struct StoreClient::Impl {
  std::string address;
  int port = 0;
  Socket socket;
  std::mutex mutex;  // one call at a time
  std::atomic<bool> closed{false};
  std::atomic<double> operation_seconds{30};
  std::uint32_t request = 0;
  std::string in;       // bytes of answers not yet taken
  bool broken = false;  // a request was cut off half-way

  std::string where() const { return fmt::format("the store at {}:{}", address, port); }
  [[noreturn]] void fail(const std::string& what, const std::string& key, const std::string& cause) const {
    throw base::PeerError(fmt::format("{} of '{}' failed: {} {}", what, key, where(), cause));
  }

  struct Answer {
    bool came = false;
    Status status = Status::ok;
    std::string body;
  };
  // An answer that does not come in time is came = false; must() makes it an error.
  Answer call(const char* what, Operation operation, const std::string& key, std::string_view value, double seconds);
  Answer must(const char* what, Operation operation, const std::string& key, std::string_view value, double seconds);
  Answer receive(const char* what, const std::string& key, double until);
};

// Greets as our protocol does. Throws ConfigError when something else answers; false when nothing (useful) did.
static bool greet(Socket& socket, const std::string& address, int port, double until) {
  if (!socket.send_all(wire::client_hello, until)) return false;
  std::string answer;
  while (answer.size() < wire::server_hello.size()) {
    if (socket.receive(answer, wire::server_hello.size() - answer.size(), until) != Socket::Received::some)
      return false;
    if (answer == wire::server_hello.substr(0, answer.size())) continue;
    throw base::ConfigError(fmt::format(
        "port {} on {} is held by something that is not a Troika store of this version: choose another --master-port",
        port, address));
  }
  return true;
}

StoreClient::StoreClient(const std::string& address, int port, double deadline_seconds)
    : impl_(std::make_unique<Impl>()) {
  impl_->address = address;
  impl_->port = port;
  const double until = monotonic_seconds() + deadline_seconds;
  int unanswered = 0;  // connections that were accepted and then closed or ignored
  for (double pause = 0.02;; pause = std::min(pause * 2, 0.3)) {
    std::string cause;
    const double this_try = std::min(until, monotonic_seconds() + 5);
    if (impl_->socket.connect(address, port, this_try, &cause)) {
      if (greet(impl_->socket, address, port, this_try)) return;
      cause = "it accepts connections but does not answer as a Troika store";
      if (++unanswered == 5) {
        throw base::ConfigError(
            fmt::format("port {} on {} is held by something that is not a Troika store: choose another --master-port",
                        port, address));
      }
    }
    if (monotonic_seconds() >= until) {
      throw base::PeerError(
          fmt::format("{} did not answer within {:g} s ({}): is rank 0's host started, and is the port open?",
                      impl_->where(), deadline_seconds, cause));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(pause, until - monotonic_seconds())));
  }
}

StoreClient::~StoreClient() = default;

StoreClient::Impl::Answer StoreClient::Impl::receive(const char* what, const std::string& key, double until) {
  for (;;) {
    wire::Frame frame;
    std::size_t used = 0;
    const wire::Parse parse = wire::parse_frame(in, &frame, &used);
    if (parse == wire::Parse::malformed) fail(what, key, "sent something malformed");
    if (parse == wire::Parse::complete) {
      const bool mine = frame.request == request;  // else a late answer to a call that gave up
      Answer answer{true, static_cast<Status>(frame.kind), mine ? std::string(frame.body) : ""};
      in.erase(0, used);
      if (mine) return answer;
      continue;
    }
    const auto received = socket.receive(in, 1 << 20, until);
    if (closed) fail(what, key, "was left");
    if (received == Socket::Received::late) return {};
    if (received == Socket::Received::gone) {
      broken = true;
      fail(what, key, "is gone");
    }
  }
}

StoreClient::Impl::Answer StoreClient::Impl::call(const char* what, Operation operation, const std::string& key,
                                                  std::string_view value, double seconds) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (closed) fail(what, key, "was left");
  if (broken) fail(what, key, "is gone");
  if (key.size() > wire::max_key_bytes) fail(what, key.substr(0, 60) + "...", "takes keys up to 4 KiB");
  if (value.size() > wire::max_value_bytes) fail(what, key, "takes values up to 64 MiB");
  std::string body;
  body.reserve(4 + key.size() + value.size());
  wire::put_text(body, key);
  body.append(value);
  const double until = monotonic_seconds() + seconds;
  const double sent_by =
      std::max(until, monotonic_seconds() + operation_seconds);  // a short wait must not cut a request
  if (!socket.send_all(wire::frame(++request, static_cast<std::uint8_t>(operation), body), sent_by)) {
    broken = true;
    fail(what, key, closed ? "was left" : "is gone");
  }
  Answer answer = receive(what, key, until);
  if (answer.came && answer.status == Status::refused) fail(what, key, "refused it: " + answer.body);
  return answer;
}

StoreClient::Impl::Answer StoreClient::Impl::must(const char* what, Operation operation, const std::string& key,
                                                  std::string_view value, double seconds) {
  Answer answer = call(what, operation, key, value, seconds);
  if (!answer.came) fail(what, key, fmt::format("did not answer within {:g} s", seconds));
  return answer;
}

void StoreClient::set_deadline(double seconds) { impl_->operation_seconds = seconds; }

void StoreClient::set(const std::string& key, const std::string& value) {
  impl_->must("set", Operation::set, key, value, impl_->operation_seconds);
}

std::string StoreClient::get(const std::string& key, double deadline_seconds) {
  std::string value;
  if (!get_within(key, deadline_seconds, &value)) {
    throw base::PeerError(fmt::format("nobody wrote '{}' to {} within {:g} s", key, impl_->where(), deadline_seconds));
  }
  return value;
}

bool StoreClient::get_within(const std::string& key, double seconds, std::string* value) {
  Impl::Answer answer = impl_->call("get", Operation::get, key, "", seconds);
  if (answer.came) *value = std::move(answer.body);
  return answer.came;
}

bool StoreClient::try_get(const std::string& key, std::string* value) {
  Impl::Answer answer = impl_->must("try_get", Operation::try_get, key, "", impl_->operation_seconds);
  if (answer.status == Status::absent) return false;
  *value = std::move(answer.body);
  return true;
}

std::int64_t StoreClient::add(const std::string& key, std::int64_t amount) {
  std::int64_t sum = 0;
  const Impl::Answer answer = impl_->must("add", Operation::add, key, std::to_string(amount), impl_->operation_seconds);
  if (!base::parse_int(answer.body, &sum)) impl_->fail("add", key, "sent something malformed");
  return sum;
}

std::string StoreClient::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  std::string pair;
  wire::put_text(pair, expected);
  wire::put_text(pair, desired);
  return impl_->must("compare_set", Operation::compare_set, key, pair, impl_->operation_seconds).body;
}

bool StoreClient::erase(const std::string& key) {
  return impl_->must("erase", Operation::erase, key, "", impl_->operation_seconds).status == Status::ok;
}

std::vector<std::string> StoreClient::keys(const std::string& prefix) {
  const Impl::Answer answer = impl_->must("keys", Operation::keys, prefix, "", impl_->operation_seconds);
  std::vector<std::string> names;
  std::string_view rest = answer.body, name;
  while (wire::take_text(rest, &name)) names.emplace_back(name);
  return names;
}

std::string StoreClient::local_address() const { return impl_->socket.local_address(); }

void StoreClient::close() {
  impl_->closed = true;
  impl_->socket.shut();
}

}  // namespace troika::rendezvous
