// The store's answers to the bytes of its clients: who may join, what they ask, what they are answered. It knows no sockets, no
// clock and no threads; StoreServer moves the bytes.
//
// Bounds: a client that has not joined has limits.join_seconds, a kilobyte and three tries; of what has come and is not yet a whole request,
// and of answers that are not yet taken, there is never more than the limits say, and the client with most goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/identity.h"
#include "rendezvous/wire.h"

namespace troika::rendezvous {

// Below it a store notes who came without the right secret: by address, the wire::Refusal. Never anything of a secret.
inline constexpr std::string_view wrong_secret_prefix = "wrong-secret/";

struct StoreLimits {
  std::size_t table_bytes = std::size_t{32} << 20;
  std::size_t unread_bytes = std::size_t{16} << 20;  // of requests that are not whole
  std::size_t unsent_bytes = std::size_t{32} << 20;  // of answers
  std::size_t clients = 1024;
  std::size_t strangers = 256;  // who have not joined; when one more comes the oldest goes
  double join_seconds = 10;

  // For a launch of so many ranks: each has a few connections, and of each group the addresses of all of it lie in the store.
  static StoreLimits of(int ranks);
};

// The keys and values of a store, and what each operation does to them. Threads: none of its own.
class StoreTable {
 public:
  explicit StoreTable(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  struct Reply {
    wire::Status status = wire::Status::ok;
    std::string body;
    enum class Key { same, changed } key = Key::same;  // changed: those that wait for it must be looked at
  };
  // One request but join, leave_behind and the waiting ones. Malformed ones are refused.
  Reply apply(wire::Operation operation, const std::string& key, std::string_view rest);
  const std::string* find(const std::string& key) const;  // null: there is none

 private:
  struct Value {
    std::string bytes;
    std::uint64_t version = 0;  // of the table when it was written
  };

  Reply store(const std::string& key, std::string_view bytes);
  Reply read(const std::string& key) const;
  Reply add(const std::string& key, std::string_view amount);
  Reply compare_set(const std::string& key, std::string_view pair);
  Reply erase(const std::string& key);
  Reply keys(const std::string& prefix) const;
  Reply entries(const std::string& prefix, std::string_view since) const;
  Reply set_and_read(const std::string& key, std::string_view rest);

  std::map<std::string, Value> values_;
  std::uint64_t version_ = 0;  // counts changes
  std::size_t bytes_ = 0;
  const std::size_t most_bytes_;
};

class StoreService {
 public:
  using Client = std::uint64_t;  // counts up from first_client

  // `nonce` gives nonce_bytes that nobody foresees.
  StoreService(Access access, const StoreLimits& limits, std::function<std::string()> nonce);

  // A connection has come, at this time, from this address. Nothing when there are too many.
  std::optional<Client> open(double now, std::string address);
  void receive(Client client, std::string_view bytes);
  enum class Ended { by_client, otherwise };
  void close(Client client, Ended ended);  // its connection has
  void expire(double now);                 // strangers whose time is over are dropped

  // Clients that since the last call have got something to be sent, or were dropped.
  std::vector<Client> take_touched();
  bool dropped(Client client) const { return clients_.count(client) == 0; }
  std::string_view unsent(Client client) const;
  void sent(Client client, std::size_t bytes);

  static constexpr Client first_client = 16;

 private:
  struct State {
    enum class Stage { greeting, joining, joined } stage = Stage::greeting;
    double since = 0;
    int refusals = 0;
    std::string address;
    std::string client_nonce, server_nonce;
    std::string in, out;
    std::vector<std::string> awaited;  // keys; empty: it waits for none
    std::uint32_t awaited_by = 0;      // its request
    wire::Operation awaited_as = wire::Operation::await;
    std::string last_key, last_value;  // written when it ends its connection; no key: nothing
  };
  enum class Next { goes_on, drop };

  Next consume(Client client, State& state);
  Next greet(State& state, std::string_view& rest);
  Next answer(Client client, State& state, const wire::Frame& request);
  void note_wrong_secret(const State& state, wire::Refusal why);
  Next join(Client client, State& state, const wire::Frame& request);
  Next await(Client client, State& state, const wire::Frame& request, std::string_view rest, const std::string& key);
  bool answer_awaited(Client client, State& state);
  void forget_awaited(Client client, State& state);
  void wake(const std::string& key);
  void reply(Client client, State& state, std::uint32_t request, wire::Status status, std::string_view body);
  void drop(Client client);
  void keep_within(std::size_t most, std::size_t& all, std::string State::*buffer);

  const Access access_;
  const StoreLimits limits_;
  const std::function<std::string()> nonce_;
  StoreTable table_;
  std::map<Client, State> clients_;
  std::set<Client> strangers_;  // the oldest first
  std::map<std::string, std::set<Client>> waiting_;
  std::set<Client> touched_;
  std::set<std::string> with_wrong_secret_;  // addresses, of which the table holds a note
  std::size_t unread_ = 0, unsent_ = 0;
  Client next_ = first_client;
};

}  // namespace troika::rendezvous
