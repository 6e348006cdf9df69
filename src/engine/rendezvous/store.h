// A small key-value store that ranks meet at. Needs no tensors, so that the launcher can host it; see
// docs/decisions/0001-own-store.md. Keys and values are bytes; keys up to 1 KiB, values up to 4 MiB.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "rendezvous/identity.h"
#include "rendezvous/store_service.h"

namespace troika::rendezvous {

// From where a store can be reached: this host alone, or every network.
enum class Reach { this_host, networks };

// The access of this identity's launch: its id and secret; limits for its ranks.
Access access_of(const Identity& identity);
Reach reach_of(const Identity& identity);

// A store that did not answer in time, and why, in the system's words: "Connection refused".
class NoAnswer : public base::PeerError {
 public:
  explicit NoAnswer(const base::Text& text, base::Cause cause = base::Cause{}, base::Text reason = {})
      : PeerError(text, cause), reason_(std::move(reason)) {}

  const base::Text& reason() const { return reason_; }

 private:
  base::Text reason_;
};

// That store has ended for certain: its host is there, and nobody listens on the port. Whether a store that does not answer has
// ended cannot be known.
class StoreGone : public NoAnswer {
 public:
  using NoAnswer::NoAnswer;
};

// Whether the error of a call or a connection says that the store of this launch has ended: StoreGone, or another launch's is
// there now.
bool is_gone(const base::Error& error);

// Serves from a thread of its own until destroyed. Throws ConfigError when the port is taken, naming the port and
// (where /proc tells) the program that holds it. Raises this process's limit of open files to what the system allows.
class StoreServer {
 public:
  explicit StoreServer(int port);  // 0: any free port; of no launch, for this host
  StoreServer(int port, Reach reach, Access access, const StoreLimits& limits);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;
  int port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The entries below a prefix that changed since a version of the store.
struct StoreEntries {
  std::uint64_t version = 0;
  std::vector<std::pair<std::string, std::string>> changed;  // key without the prefix, value; sorted
};

class StoreClient;

// Clients without this store's secret, a sentence each: "somebody at 10.0.0.2 tried to join with another secret than ...". Those
// since a version of the store, which is moved on.
std::vector<base::Text> with_wrong_secret(StoreClient& client, std::uint64_t* since);

// One connection. Threads: every call may come from any thread; calls on one client are serial, so a thread that must
// not wait behind a blocking get() uses a client of its own. Every call throws PeerError when the server is gone or the
// deadline passes, naming the address, the operation and the key. Calls without a deadline of their own have 30 s, or
// what set_deadline() says.
class StoreClient {
 public:
  // Tries until the server answers or `deadline_seconds` have passed. Throws ConfigError when something answers there
  // that is no Troika store, or a store that does not take this process: another launch, another secret. StoreGone when at last
  // nobody listened there.
  StoreClient(const std::string& address, int port, double deadline_seconds, const Access& access = {});
  // The store of this identity.
  StoreClient(const Identity& identity, double deadline_seconds);
  ~StoreClient();
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  void set_deadline(double seconds);
  const std::string& launch() const;  // the id of the store's launch; "": it has none

  void set(const std::string& key, const std::string& value);
  std::string get(const std::string& key, double deadline_seconds);             // waits until the key exists
  bool get_within(const std::string& key, double seconds, std::string* value);  // false: not there within that time
  // Waits until one of at most 16 keys exists: which, the first one if several do; -1: none within that time.
  int first_within(const std::vector<std::string>& keys, double seconds, std::string* value);
  bool try_get(const std::string& key, std::string* value);       // does not wait
  std::int64_t add(const std::string& key, std::int64_t amount);  // 0 + amount when absent; returns the sum
  // Sets `desired` when the current value is `expected` (absent counts as ""); returns the value that the key then has.
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired);
  bool erase(const std::string& key);
  std::vector<std::string> keys(const std::string& prefix);  // sorted
  StoreEntries entries(const std::string& prefix, std::uint64_t since);
  // Sets one key and reads the first of at most 16 others that exists: which; -1: none does.
  int set_and_read(const std::string& key, const std::string& value, const std::vector<std::string>& others,
                   std::string* other_value);

  // The key gets the value when the system ends this connection, as it does for a process that is killed; not when this object
  // goes, nor when the network or the server ends it. The last call counts.
  void leave_behind(const std::string& key, const std::string& value);

  // The local address of the socket: how peers on the master's network reach this host.
  std::string local_address() const;

  // Ends the call under way and every later one with PeerError; from any thread.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::rendezvous
