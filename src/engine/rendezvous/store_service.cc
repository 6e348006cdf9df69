#include "rendezvous/store_service.h"

#include <algorithm>
#include <utility>

namespace troika::rendezvous {
using wire::Operation;
using wire::Status;

StoreLimits StoreLimits::of(int ranks) {
  StoreLimits limits;
  const auto n = static_cast<std::size_t>(std::max(ranks, 1));
  constexpr std::size_t connections = 6, address_bytes = 1024;
  limits.clients += connections * n;
  limits.strangers += connections * n;
  limits.table_bytes += n * n * address_bytes;
  limits.unsent_bytes += n * n * address_bytes / 4;
  return limits;
}

StoreService::StoreService(Access access, const StoreLimits& limits, std::function<std::string()> nonce)
    : access_(std::move(access)), limits_(limits), nonce_(std::move(nonce)), table_(limits.table_bytes) {}

std::optional<StoreService::Client> StoreService::open(double now, std::string address) {
  if (clients_.size() >= limits_.clients && strangers_.empty()) return std::nullopt;
  if (clients_.size() >= limits_.clients || strangers_.size() >= limits_.strangers) drop(*strangers_.begin());
  const Client client = next_++;
  State& state = clients_[client];
  state.since = now;
  state.address = std::move(address);
  state.server_nonce = nonce_();
  strangers_.insert(client);
  return client;
}

void StoreService::close(Client client, Ended ended) {
  const auto found = clients_.find(client);
  if (found != clients_.end()) {
    const std::string key = found->second.last_key, value = found->second.last_value;
    drop(client);
    const bool written = ended == Ended::by_client && !key.empty() &&
                         table_.apply(Operation::set, key, value).key == StoreTable::Reply::Key::changed;
    if (written) wake(key);
  }
  touched_.erase(client);
}

void StoreService::expire(double now) {
  while (!strangers_.empty() && now - clients_.at(*strangers_.begin()).since > limits_.join_seconds)
    drop(*strangers_.begin());
}

std::vector<StoreService::Client> StoreService::take_touched() {
  std::vector<Client> all(touched_.begin(), touched_.end());
  touched_.clear();
  return all;
}

std::string_view StoreService::unsent(Client client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? std::string_view() : std::string_view(found->second.out);
}

void StoreService::sent(Client client, std::size_t bytes) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  found->second.out.erase(0, bytes);
  if (found->second.out.empty()) found->second.out.shrink_to_fit();
  unsent_ -= bytes;
}

void StoreService::drop(Client client) {
  State& state = clients_.at(client);
  forget_awaited(client, state);
  unread_ -= state.in.size();
  unsent_ -= state.out.size();
  strangers_.erase(client);
  clients_.erase(client);
  touched_.insert(client);
}

// Clients go, the one with most first, until all of these buffers together are small enough.
void StoreService::keep_within(std::size_t most, std::size_t& all, std::string State::*buffer) {
  while (all > most) {
    const auto largest = std::max_element(clients_.begin(), clients_.end(), [&](const auto& a, const auto& b) {
      return (a.second.*buffer).size() < (b.second.*buffer).size();
    });
    drop(largest->first);
  }
}

void StoreService::receive(Client client, std::string_view bytes) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  State& state = found->second;
  const std::size_t before = state.in.size();
  state.in.append(bytes);
  unread_ += bytes.size();
  const Next next = consume(client, state);
  unread_ -= before + bytes.size() - state.in.size();
  if (next == Next::drop) return drop(client);
  keep_within(limits_.unread_bytes, unread_, &State::in);
  keep_within(limits_.unsent_bytes, unsent_, &State::out);
}

StoreService::Next StoreService::consume(Client client, State& state) {
  std::string_view rest = state.in;
  if (state.stage == State::Stage::greeting) {
    if (greet(state, rest) == Next::drop) return Next::drop;
    if (state.stage == State::Stage::greeting) return Next::goes_on;
    touched_.insert(client);
  }
  for (;;) {
    wire::Frame request;
    std::size_t used = 0;
    const bool joined = state.stage == State::Stage::joined;
    const wire::Parse parse =
        wire::parse_frame(rest, joined ? wire::max_request_bytes : wire::max_stranger_bytes, &request, &used);
    if (parse == wire::Parse::malformed) return Next::drop;
    if (parse == wire::Parse::incomplete) break;
    if ((joined ? answer(client, state, request) : join(client, state, request)) == Next::drop) return Next::drop;
    rest.remove_prefix(used);
  }
  state.in.erase(0, state.in.size() - rest.size());
  if (state.in.empty()) state.in.shrink_to_fit();
  return Next::goes_on;
}

StoreService::Next StoreService::greet(State& state, std::string_view& rest) {
  const std::string_view expected = wire::client_greeting;
  const std::size_t seen = std::min(rest.size(), expected.size());
  if (rest.substr(0, seen) != expected.substr(0, seen)) return Next::drop;
  if (rest.size() < expected.size() + nonce_bytes) return Next::goes_on;
  state.client_nonce = rest.substr(expected.size(), nonce_bytes);
  rest.remove_prefix(expected.size() + nonce_bytes);
  state.stage = State::Stage::joining;
  state.out.append(wire::server_greeting).append(state.server_nonce);
  unsent_ += wire::server_greeting.size() + nonce_bytes;
  return Next::goes_on;
}

// Strangers fill no memory: of so many addresses, each once.
void StoreService::note_wrong_secret(const State& state, wire::Refusal why) {
  constexpr std::size_t most_addresses = 16;
  if (with_wrong_secret_.size() == most_addresses || !with_wrong_secret_.insert(state.address).second) return;
  table_.apply(Operation::set, std::string(wrong_secret_prefix) + state.address,
               std::string(1, static_cast<char>(why)));
}

// A secret is asked for before anything of this launch is told.
StoreService::Next StoreService::join(Client client, State& state, const wire::Frame& request) {
  std::string_view rest = request.body, launch, given;
  if (static_cast<Operation>(request.kind) != Operation::join || rest.empty()) return Next::drop;
  const auto claim = static_cast<wire::Claim>(rest.front());
  rest.remove_prefix(1);
  if (!wire::take_text(rest, &launch) || !wire::take_text(rest, &given)) return Next::drop;
  const std::string own = access_.launch.value_or("");
  const std::string proves = proof(access_.secret, Prover::client, state.client_nonce, state.server_nonce, launch);
  constexpr int most_refusals = 3;
  const auto refuse = [&](wire::Refusal why, const std::string& id = "") {
    if (why != wire::Refusal::another_launch) note_wrong_secret(state, why);
    if (++state.refusals == most_refusals) return Next::drop;
    reply(client, state, request.request, Status::refused, static_cast<char>(why) + id);
    return Next::goes_on;  // it stays a stranger, whose time runs
  };
  if (access_.secret.empty() && !given.empty()) return refuse(wire::Refusal::secret_unwanted);
  if (!access_.secret.empty() && given.empty()) return refuse(wire::Refusal::secret_missing);
  if (!equal_proofs(given, proves)) return refuse(wire::Refusal::secret_differs);
  if (claim == wire::Claim::launch && launch != own) return refuse(wire::Refusal::another_launch, own);
  state.stage = State::Stage::joined;
  strangers_.erase(client);
  std::string body;
  wire::put_text(body, own);
  wire::put_text(body, proof(access_.secret, Prover::server, state.client_nonce, state.server_nonce, own));
  reply(client, state, request.request, Status::ok, body);
  return Next::goes_on;
}

StoreService::Next StoreService::answer(Client client, State& state, const wire::Frame& request) {
  forget_awaited(client, state);  // a new request means that the client gave up waiting for the last one
  std::string_view rest = request.body, name;
  const auto operation = static_cast<Operation>(request.kind);
  if (operation == Operation::join || !wire::take_text(rest, &name) || name.size() > wire::max_key_bytes)
    return Next::drop;
  const std::string key(name);
  if (operation == Operation::await || operation == Operation::await_first)
    return await(client, state, request, rest, key);
  if (operation == Operation::leave_behind) {
    if (rest.size() > wire::max_key_bytes) return Next::drop;
    state.last_key = key;
    state.last_value = rest;
    reply(client, state, request.request, Status::ok, "");
    return Next::goes_on;
  }
  const StoreTable::Reply result = table_.apply(operation, key, rest);
  reply(client, state, request.request, result.status, result.body);
  if (result.key == StoreTable::Reply::Key::changed) wake(key);
  return Next::goes_on;
}

StoreService::Next StoreService::await(Client client, State& state, const wire::Frame& request, std::string_view rest,
                                       const std::string& key) {
  constexpr std::size_t most_keys = 16;
  std::vector<std::string> keys{key};
  std::string_view more;
  while (!rest.empty()) {
    if (!wire::take_text(rest, &more) || more.size() > wire::max_key_bytes || keys.size() == most_keys)
      return Next::drop;
    keys.emplace_back(more);
  }
  state.awaited = std::move(keys);
  state.awaited_by = request.request;
  state.awaited_as = static_cast<Operation>(request.kind);
  for (const std::string& each : state.awaited) waiting_[each].insert(client);
  answer_awaited(client, state);
  return Next::goes_on;
}

// False when none of the keys is there.
bool StoreService::answer_awaited(Client client, State& state) {
  for (std::size_t i = 0; i < state.awaited.size(); ++i) {
    const std::string* value = table_.find(state.awaited[i]);
    if (value == nullptr) continue;
    std::string body;
    if (state.awaited_as == Operation::await_first) wire::put_u32(body, static_cast<std::uint32_t>(i));
    body.append(*value);
    forget_awaited(client, state);
    reply(client, state, state.awaited_by, Status::ok, body);
    return true;
  }
  return false;
}

void StoreService::forget_awaited(Client client, State& state) {
  for (const std::string& key : state.awaited) {
    const auto found = waiting_.find(key);
    if (found == waiting_.end()) continue;
    found->second.erase(client);
    if (found->second.empty()) waiting_.erase(found);
  }
  state.awaited.clear();
}

void StoreService::wake(const std::string& key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  const std::vector<Client> all(found->second.begin(), found->second.end());
  for (const Client client : all) answer_awaited(client, clients_.at(client));
}

void StoreService::reply(Client client, State& state, std::uint32_t request, Status status, std::string_view body) {
  const std::string bytes = wire::frame(request, static_cast<std::uint8_t>(status), body);
  state.out.append(bytes);
  unsent_ += bytes.size();
  touched_.insert(client);
}

}  // namespace troika::rendezvous
