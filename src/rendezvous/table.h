// The keys and values of a store server, and what each operation does to them. Threads: none of its own.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "rendezvous/wire.h"

namespace troika::rendezvous {

class Table {
 public:
  struct Reply {
    wire::Status status = wire::Status::ok;
    std::string body;
    bool changed = false;  // `key` may have a new value: waiters must be looked at
  };
  // One request except a waiting get. Malformed requests are refused with a sentence.
  Reply apply(wire::Operation operation, const std::string& key, std::string_view value);
  const std::string* find(const std::string& key) const;

 private:
  Reply store(const std::string& key, std::string_view value);
  Reply add(const std::string& key, std::string_view amount);
  Reply compare_set(const std::string& key, std::string_view pair);
  Reply keys(const std::string& prefix) const;

  static constexpr std::size_t max_total_bytes_ = std::size_t{1} << 30;
  std::map<std::string, std::string> values_;
  std::size_t total_bytes_ = 0;
};

}  // namespace troika::rendezvous
