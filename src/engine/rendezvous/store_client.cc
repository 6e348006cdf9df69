
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "host/network.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "rendezvous/socket.h"
#include "rendezvous/store.h"
#include "rendezvous/wire.h"

namespace troika::rendezvous {
using base::monotonic_seconds;
using wire::Operation;
using wire::Status;

static base::Text tried_to_join(const std::string& address, wire::Refusal why) {
  if (why == wire::Refusal::secret_unwanted)
    return base::say("a process at {} tried to join with a secret, but this launch has none", address);
  if (why == wire::Refusal::secret_missing)
    return base::say("a process at {} tried to join without this launch's secret", address);
  return base::say("a process at {} tried to join with a secret other than this launch's", address);
}

std::vector<base::Text> with_wrong_secret(StoreClient& client, std::uint64_t* since) {
  const StoreEntries entries = client.entries(std::string(wrong_secret_prefix), *since);
  *since = entries.version;
  std::vector<base::Text> sentences;
  for (const auto& [address, why] : entries.changed)
    sentences.push_back(tried_to_join(address, static_cast<wire::Refusal>(why.empty() ? '\0' : why.front())));
  return sentences;
}

Access access_of(const Identity& identity) { return {identity.launch, identity.secret}; }

Reach reach_of(const Identity& identity) {
  const bool one_host = identity.local_size == identity.world_size || is_loopback(identity.master_address);
  return one_host ? Reach::this_host : Reach::networks;
}

bool is_gone(const base::Error& error) {
  return dynamic_cast<const StoreGone*>(&error) != nullptr || dynamic_cast<const base::ConfigError*>(&error) != nullptr;
}

static constexpr base::Phrase malformed = base::Phrase("the store at {} sent something malformed");
static constexpr base::Phrase gone = base::Phrase("the store at {} has ended");
static constexpr base::Phrase left = base::Phrase("this process has left the store at {}");

struct StoreClient::Impl {
  std::string address;
  int port = 0;
  Access access;
  std::string launch;
  Socket socket;
  std::mutex mutex;  // one call at a time
  std::atomic<bool> closed{false};
  std::atomic<double> operation_seconds{30};
  std::uint32_t request = 0;
  std::string in;       // bytes of answers not yet taken
  bool broken = false;  // a request was cut off half-way
  bool leaves_behind = false;

  std::string where() const { return endpoint_text(address, port); }
  // `why`: a sentence of the store, whose place it is given.
  template <class... Arguments>
  [[noreturn]] void fail(const char* what, const std::string& key, base::Phrase why,
                         const Arguments&... arguments) const {
    throw base::PeerError(base::say("{} of '{}' failed: {}", what, key, base::say(why, where(), arguments...)),
                          base::Cause::connection_broke);
  }

  // One try to meet the store.
  struct Meeting {
    enum class Result { met, nobody, silent, refused } result = Result::met;
    base::Text cause{};
    base::Cause why{};
  };
  using Result = Meeting::Result;
  Meeting meet(double until);
  Meeting greet(const std::string& nonce, std::string* server_nonce, double until);
  Meeting join(const std::string& nonce, const std::string& server_nonce, double until);

  struct Answer {
    bool came = false;
    Status status = Status::ok;
    std::string body;
  };
  void check_value(const char* what, const std::string& key, const std::string& value) const {
    if (value.size() > wire::max_value_bytes) fail(what, key, base::Phrase("the store at {} accepts values of at most 4 MiB"));
  }
  // An answer that does not come in time is came = false; must() makes it an error.
  Answer call(const char* what, Operation operation, const std::string& key, std::string_view rest, double seconds);
  Answer must(const char* what, Operation operation, const std::string& key, std::string_view rest);
  Answer receive(const char* what, const std::string& key, double until);
  // Reads an answer that says which of these keys was found, and its value.
  int which_of(const std::string& key, const std::vector<std::string>& keys, std::string_view body,
               std::string* value) const {
    std::uint32_t which = 0;
    if (!wire::take_u32(body, &which) || which >= keys.size()) fail("get", key, malformed);
    *value = std::string(body);
    return static_cast<int>(which);
  }
};

static base::Cause cause_at(const std::string& address, base::Cause cause) {
  constexpr const char* own_name_of_debian = "127.0.1.1";
  if (address == own_name_of_debian) return base::Cause::wrong_address;
  return cause == base::Cause::not_told ? base::Cause::rank_missing : cause;
}

static base::Text foreign(const std::string& address, int port, const base::Text& what) {
  return base::say("port {} on {} is held by {}: choose another --master-port", port, address, what);
}

// Throws ConfigError when something else answers.
StoreClient::Impl::Meeting StoreClient::Impl::greet(const std::string& nonce, std::string* server_nonce, double until) {
  const Meeting silent{Result::silent, base::say("it accepts connections but does not answer as a Troika store")};
  if (!socket.send_all(std::string(wire::client_greeting) + nonce, until)) return silent;
  std::string answer;
  const std::size_t all = wire::server_greeting.size() + nonce_bytes;
  while (answer.size() < all) {
    if (socket.receive(answer, all - answer.size(), until) != Socket::Received::some) return silent;
    const std::string_view seen = std::string_view(answer).substr(0, wire::server_greeting.size());
    if (seen == wire::server_greeting.substr(0, seen.size())) continue;
    const bool other_version = seen.substr(0, wire::any_server_greeting.size()) == wire::any_server_greeting;
    throw base::ConfigError(foreign(address, port,
                                    other_version ? base::say("another version of Troika")
                                                  : base::say("something that is not a Troika store")),
                            base::Cause::port_in_use);
  }
  *server_nonce = answer.substr(wire::server_greeting.size());
  return {};
}

static base::Text words_of(wire::Refusal why, const std::string& more) {
  std::int64_t bytes = 0;
  switch (why) {
    case wire::Refusal::secret_unwanted:
      return base::say("it has no secret, but this process has one");
    case wire::Refusal::secret_missing:
      return base::say("it has a secret: set TROIKA_SECRET or TROIKA_SECRET_FILE as for the host that started it");
    case wire::Refusal::secret_differs:
      return base::say("it has a different secret");
    case wire::Refusal::another_launch:
      return more.empty() ? base::say("it belongs to ranks started without a launcher")
                          : base::say("it belongs to another launch ({})", base::printable(more, wire::max_stranger_bytes));
    case wire::Refusal::full:
      base::parse_int(more, &bytes);
      return base::say("the store is full ({})", base::format_bytes(bytes));
    case wire::Refusal::answer_too_long:
      return base::say("the answer would be too long");
    case wire::Refusal::malformed:
      break;
  }
  return base::say("the request is malformed");
}

static base::Text refusal_in(std::string_view answer) {
  if (answer.empty()) return base::say("its answer is malformed");
  return words_of(static_cast<wire::Refusal>(answer.front()), std::string(answer.substr(1)));
}

StoreClient::Impl::Meeting StoreClient::Impl::join(const std::string& nonce, const std::string& server_nonce,
                                                   double until) {
  const std::string claimed = access.launch.value_or("");
  std::string body(1, static_cast<char>(access.launch ? wire::Claim::launch : wire::Claim::any_launch));
  wire::put_text(body, claimed);
  wire::put_text(body, proof(access.secret, Prover::client, nonce, server_nonce, claimed));
  const Meeting silent{Result::silent, base::say("it closes connections before answering")};
  if (!socket.send_all(wire::frame(++request, static_cast<std::uint8_t>(Operation::join), body), until)) return silent;
  wire::Frame frame;
  std::size_t used = 0;
  wire::Parse parse = wire::Parse::incomplete;
  while ((parse = wire::parse_frame(in, wire::max_stranger_bytes, &frame, &used)) == wire::Parse::incomplete) {
    if (socket.receive(in, wire::max_stranger_bytes, until) != Socket::Received::some) return silent;
  }
  std::string_view rest = frame.body, theirs, given;
  if (parse == wire::Parse::complete && static_cast<Status>(frame.kind) == Status::refused) {
    const bool launch_differs = frame.body.substr(0, 1) == std::string(1, static_cast<char>(wire::Refusal::another_launch));
    return {Result::refused, refusal_in(frame.body), launch_differs ? base::Cause::port_in_use : base::Cause::wrong_secret};
  }
  if (parse == wire::Parse::malformed || !wire::take_text(rest, &theirs) || !wire::take_text(rest, &given))
    return {Result::refused, base::say("its answer is malformed"), base::Cause::port_in_use};
  if (!equal_proofs(given, proof(access.secret, Prover::server, nonce, server_nonce, theirs)))
    return {Result::refused, base::say("it does not know the secret of this process"), base::Cause::wrong_secret};
  launch = theirs;
  in.erase(0, used);
  return {};
}

StoreClient::Impl::Meeting StoreClient::Impl::meet(double until) {
  Meeting meeting;
  in.clear();
  if (!socket.connect(address, port, until, &meeting.cause)) {
    meeting.result = Result::nobody;
    meeting.why = socket.cause();
    return meeting;
  }
  const std::string nonce = new_nonce();
  std::string server_nonce;
  meeting = greet(nonce, &server_nonce, until);
  return meeting.result == Result::met ? join(nonce, server_nonce, until) : meeting;
}

StoreClient::StoreClient(const Identity& identity, double deadline_seconds)
    : StoreClient(identity.master_address, identity.store_port, deadline_seconds, access_of(identity)) {}

StoreClient::StoreClient(const std::string& address, int port, double deadline_seconds, const Access& access)
    : impl_(std::make_unique<Impl>()) {
  impl_->address = address;
  impl_->port = port;
  impl_->access = access;
  constexpr double one_try_seconds = 5, refused_seconds = 2;  // a store of an earlier launch may be about to end
  constexpr int silent_tries = 5;
  const double began = monotonic_seconds(), until = began + deadline_seconds;
  int silent = 0;
  base::Text refusal;
  base::Cause refused_why{};
  ConnectCause cause;  // of the tries that had their time: one that the deadline cut off tells nothing
  for (double pause = 0.02;; pause = std::min(pause * 2, 0.3)) {
    const Impl::Meeting meeting = impl_->meet(std::min(until, monotonic_seconds() + one_try_seconds));
    if (meeting.result == Impl::Result::met) return;
    if (cause.text().empty() || monotonic_seconds() < until) cause.hear(meeting.cause, meeting.why);
    if (meeting.result == Impl::Result::refused) {
      refusal = meeting.cause;
      refused_why = meeting.why;
    }
    if (meeting.result == Impl::Result::nobody && monotonic_seconds() < until) refusal = {};
    if (!refusal.empty() && monotonic_seconds() >= std::min(began + refused_seconds, until)) {
      if (!is_loopback(address))
        throw base::ConfigError(base::say("the store at {} rejects this process: {}", impl_->where(), refusal),
                                refused_why);
      throw base::ConfigError(base::say("the store at {}, held by {}, rejects this process: {}", impl_->where(),
                                        host::port_holder(port), refusal),
                              refused_why);
    }
    if (meeting.result == Impl::Result::nobody && is_loopback(address) && impl_->socket.no_network())
      throw base::ConfigError(
          base::say("the loopback interface of this host does not work ({}: {}): `ip link set lo up` enables it",
                    address, meeting.cause));
    if (meeting.result == Impl::Result::silent && ++silent == silent_tries)
      throw base::ConfigError(foreign(address, port, base::say("something that is not a Troika store")));
    if (monotonic_seconds() >= until) {
      const base::Cause why = cause_at(address, cause.cause());
      const base::Text text = base::say(
          "the store at {} did not answer within {:g} s ({}): has rank 0's host started, and is the port open?",
          impl_->where(), deadline_seconds, cause.text());
      if (meeting.result == Impl::Result::nobody && impl_->socket.nobody_listens())
        throw StoreGone(text, why, cause.text());
      throw NoAnswer(text, why, cause.text());
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(pause, until - monotonic_seconds())));
  }
}

StoreClient::~StoreClient() {
  if (!impl_->leaves_behind || impl_->broken) return;
  std::string no_key;
  wire::put_text(no_key, "");
  impl_->socket.send_all(wire::frame(++impl_->request, static_cast<std::uint8_t>(Operation::leave_behind), no_key),
                         monotonic_seconds());
}

const std::string& StoreClient::launch() const { return impl_->launch; }

StoreClient::Impl::Answer StoreClient::Impl::receive(const char* what, const std::string& key, double until) {
  for (;;) {
    wire::Frame frame;
    std::size_t used = 0;
    const wire::Parse parse = wire::parse_frame(in, 2 * wire::max_answer_bytes, &frame, &used);
    if (parse == wire::Parse::malformed) fail(what, key, malformed);
    if (parse == wire::Parse::complete) {
      const bool mine = frame.request == request;  // else a late answer to a call that gave up
      Answer answer{true, static_cast<Status>(frame.kind), mine ? std::string(frame.body) : ""};
      in.erase(0, used);
      if (mine) return answer;
      continue;
    }
    const auto received = socket.receive(in, 1 << 20, until);
    if (closed) fail(what, key, left);
    if (received == Socket::Received::late) return {};
    if (received == Socket::Received::gone) {
      broken = true;
      fail(what, key, gone);
    }
  }
}

StoreClient::Impl::Answer StoreClient::Impl::call(const char* what, Operation operation, const std::string& key,
                                                  std::string_view rest, double seconds) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (closed) fail(what, key, left);
  if (broken) fail(what, key, gone);
  if (key.size() > wire::max_key_bytes)
    fail(what, key.substr(0, 60) + "...", base::Phrase("the store at {} accepts keys of at most 1 KiB"));
  std::string body;
  body.reserve(4 + key.size() + rest.size());
  wire::put_text(body, key);
  body.append(rest);
  const double until = monotonic_seconds() + seconds;
  const double sent_by =
      std::max(until, monotonic_seconds() + operation_seconds);  // a short wait must not cut a request
  if (!socket.send_all(wire::frame(++request, static_cast<std::uint8_t>(operation), body), sent_by)) {
    broken = true;
    fail(what, key, closed ? left : gone);
  }
  Answer answer = receive(what, key, until);
  if (answer.came && answer.status == Status::refused)
    fail(what, key, base::Phrase("the store at {} refused it: {}"), refusal_in(answer.body));
  return answer;
}

StoreClient::Impl::Answer StoreClient::Impl::must(const char* what, Operation operation, const std::string& key,
                                                  std::string_view rest) {
  const double seconds = operation_seconds;
  Answer answer = call(what, operation, key, rest, seconds);
  if (!answer.came) fail(what, key, base::Phrase("the store at {} did not answer within {:g} s"), seconds);
  return answer;
}

void StoreClient::set_deadline(double seconds) { impl_->operation_seconds = seconds; }

void StoreClient::set(const std::string& key, const std::string& value) {
  impl_->check_value("set", key, value);
  impl_->must("set", Operation::set, key, value);
}

std::string StoreClient::get(const std::string& key, double deadline_seconds) {
  std::string value;
  if (!get_within(key, deadline_seconds, &value)) {
    throw base::PeerError(
        base::say("no process wrote '{}' to the store at {} within {:g} s", key, impl_->where(), deadline_seconds),
        base::Cause::connection_broke);
  }
  return value;
}

bool StoreClient::get_within(const std::string& key, double seconds, std::string* value) {
  Impl::Answer answer = impl_->call("get", Operation::await, key, "", seconds);
  if (answer.came) *value = std::move(answer.body);
  return answer.came;
}

int StoreClient::first_within(const std::vector<std::string>& keys, double seconds, std::string* value) {
  std::string others;
  for (std::size_t i = 1; i < keys.size(); ++i) wire::put_text(others, keys[i]);
  const Impl::Answer answer = impl_->call("get", Operation::await_first, keys.front(), others, seconds);
  if (!answer.came) return -1;
  return impl_->which_of(keys.front(), keys, answer.body, value);
}

bool StoreClient::try_get(const std::string& key, std::string* value) {
  Impl::Answer answer = impl_->must("read", Operation::read, key, "");
  if (answer.status == Status::absent) return false;
  *value = std::move(answer.body);
  return true;
}

std::int64_t StoreClient::add(const std::string& key, std::int64_t amount) {
  std::int64_t sum = 0;
  const Impl::Answer answer = impl_->must("add", Operation::add, key, std::to_string(amount));
  if (!base::parse_int(answer.body, &sum)) impl_->fail("add", key, malformed);
  return sum;
}

std::string StoreClient::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  impl_->check_value("compare_set", key, desired);
  impl_->check_value("compare_set", key, expected);
  std::string pair;
  wire::put_text(pair, expected);
  wire::put_text(pair, desired);
  return impl_->must("compare_set", Operation::compare_set, key, pair).body;
}

bool StoreClient::erase(const std::string& key) {
  return impl_->must("erase", Operation::erase, key, "").status == Status::ok;
}

std::vector<std::string> StoreClient::keys(const std::string& prefix) {
  const Impl::Answer answer = impl_->must("keys", Operation::keys, prefix, "");
  std::vector<std::string> names;
  std::string_view rest = answer.body, name;
  while (wire::take_text(rest, &name)) names.emplace_back(name);
  return names;
}

StoreEntries StoreClient::entries(const std::string& prefix, std::uint64_t since) {
  std::string version;
  wire::put_u64(version, since);
  const Impl::Answer answer = impl_->must("entries", Operation::entries, prefix, version);
  std::string_view rest = answer.body, key, value;
  StoreEntries entries;
  if (!wire::take_u64(rest, &entries.version)) impl_->fail("entries", prefix, malformed);
  while (wire::take_text(rest, &key) && wire::take_text(rest, &value) && key.size() >= prefix.size())
    entries.changed.emplace_back(key.substr(prefix.size()), value);
  return entries;
}

int StoreClient::set_and_read(const std::string& key, const std::string& value, const std::vector<std::string>& others,
                              std::string* other_value) {
  impl_->check_value("set", key, value);
  std::string rest;
  wire::put_u32(rest, static_cast<std::uint32_t>(others.size()));
  for (const std::string& other : others) wire::put_text(rest, other);
  rest.append(value);
  const Impl::Answer answer = impl_->must("set", Operation::set_and_read, key, rest);
  return answer.status == Status::absent ? -1 : impl_->which_of(key, others, answer.body, other_value);
}

void StoreClient::leave_behind(const std::string& key, const std::string& value) {
  impl_->must("leave_behind", Operation::leave_behind, key, value);
  impl_->leaves_behind = true;
}

std::string StoreClient::local_address() const { return impl_->socket.local_address(); }

void StoreClient::close() {
  impl_->closed = true;
  impl_->socket.shut();
}

}  // namespace troika::rendezvous
