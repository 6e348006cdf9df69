// The hash of base::hash_bytes, XXH3 of 64 bits, over bytes that come one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct XXH3_state_s;

namespace troika::base {

// One thread.
class StreamHash {
 public:
  StreamHash();
  void add(const void* bytes, std::size_t count);
  void restart();
  std::uint64_t digest() const;
  std::string hex() const;  // 16 digits

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace troika::base
