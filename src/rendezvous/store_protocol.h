// What travels between a StoreClient and a StoreServer. Both sides first send eight bytes of greeting, so a foreign
// program on the port is recognised; then frames: u32 length of the rest, u32 request number, u8 operation or status,
// body. A request's body is u32 key length, key, value. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace troika::rendezvous::wire {

inline constexpr std::string_view client_hello = "TROIKAc1";
inline constexpr std::string_view server_hello = "TROIKAs1";
inline constexpr std::size_t max_key_bytes = 4096;
inline constexpr std::size_t max_value_bytes = std::size_t{64} << 20;
inline constexpr std::size_t max_frame_bytes = max_value_bytes + max_key_bytes + 64;
inline constexpr std::size_t frame_head_bytes = 9;

enum class Operation : std::uint8_t { set = 1, get, try_get, add, compare_set, erase, keys };
enum class Status : std::uint8_t { ok = 1, absent, refused };  // refused: the body says why

struct Frame {
  std::uint32_t request = 0;
  std::uint8_t kind = 0;  // an Operation or a Status
  std::string_view body;  // points into the buffer it was taken from
};

void put_u32(std::string& out, std::uint32_t value);
std::uint32_t get_u32(const char* bytes);
std::string frame(std::uint32_t request, std::uint8_t kind, std::string_view body);

enum class Parse { complete, incomplete, malformed };
// Looks for one frame at the start of `buffer`; `used` is its length with the head.
Parse parse_frame(std::string_view buffer, Frame* out, std::size_t* used);

// Fields that are themselves strings with a length in front (compare_set's pair, the list of keys).
void put_text(std::string& out, std::string_view text);
bool take_text(std::string_view& from, std::string_view* text);

}  // namespace troika::rendezvous::wire

// The keys and values of a store server, and what each operation does to them. Threads: none of its own.
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
