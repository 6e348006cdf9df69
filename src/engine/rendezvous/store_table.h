// The keys and values of a store, and what each operation does to them. Threads: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "rendezvous/wire.h"

namespace troika::rendezvous {

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

}  // namespace troika::rendezvous
