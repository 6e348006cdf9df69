// The protocol between a StoreClient and a StoreServer.
//
// Both sides first send a greeting of eight bytes and a nonce, so a foreign program on the port is recognised; then frames:
// u32 length of the rest, u32 request number, u8 operation or status, body. A client's first frame is `join`; until it is
// answered with ok it is a stranger, from whom nothing else is taken. A request's body is a key as a text, and what the
// operation takes. A text is u32 length and bytes. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troika::rendezvous::wire {

inline constexpr std::string_view client_greeting = "TROIKAc2", server_greeting = "TROIKAs2";
inline constexpr std::string_view any_server_greeting = "TROIKAs";  // of every version
inline constexpr std::size_t max_key_bytes = 1024;
inline constexpr std::size_t max_value_bytes = std::size_t{4} << 20;
inline constexpr std::size_t frame_head_bytes = 9;
inline constexpr std::size_t max_request_bytes = 2 * max_value_bytes + 2 * max_key_bytes;  // a frame without its head
inline constexpr std::size_t max_stranger_bytes = 1024;
inline constexpr std::size_t max_keys_read = 16;  // by one request
inline constexpr std::size_t max_answer_bytes = std::size_t{64} << 20;

enum class Operation : std::uint8_t {
  join = 1,     // not with a key: u8 Claim, launch as a text, proof as a text -> launch as a text, proof as a text
  set,          // value -> nothing
  read,         // -> value, or absent
  await,        // -> value, once there is one
  await_first,  // keys as texts, the first of them in place of the key -> u32 which of them, its value: once one is there
  add,          // amount in decimal -> sum
  compare_set,   // expected and desired as texts -> the current value
  erase,         // -> nothing, or absent
  keys,          // of a prefix -> texts
  entries,       // of a prefix, changed after version u64 -> u64 version of now, then key and value as texts
  set_and_read,  // u32 number of other keys, these as texts, value -> as await_first of what is there, or absent
  leave_behind   // value -> nothing; the key gets it when the client ends this connection; "": none does
};
enum class Status : std::uint8_t { ok = 1, absent, refused };  // refused: the body begins with a Refusal

// Whether a client that joins says its launch, or takes the store's.
enum class Claim : std::uint8_t { launch = 1, any_launch };

// Why one that would join is refused: the first three are about the secret, another_launch is followed by its id, "" where it has none.
// Why a request is: full is followed by the most bytes that the store takes.
enum class Refusal : char {
  secret_unwanted = 'u',
  secret_missing = 'm',
  secret_differs = 'd',
  another_launch = 'o',
  full = 'f',
  answer_too_long = 'l',
  malformed = 'x'
};

struct Frame {
  std::uint32_t request = 0;
  std::uint8_t kind = 0;  // an Operation or a Status
  std::string_view body;  // points into the buffer it was taken from
};

void put_u32(std::string& out, std::uint32_t value);
void put_u64(std::string& out, std::uint64_t value);
bool take_u32(std::string_view& from, std::uint32_t* value);
bool take_u64(std::string_view& from, std::uint64_t* value);
void put_text(std::string& out, std::string_view text);
bool take_text(std::string_view& from, std::string_view* text);

std::string frame(std::uint32_t request, std::uint8_t kind, std::string_view body);

enum class Parse { complete, incomplete, malformed };
// Looks for one frame at the start of `buffer`, of at most `most` bytes without its head; `used` is its length with it.
Parse parse_frame(std::string_view buffer, std::size_t most, Frame* out, std::size_t* used);

}  // namespace troika::rendezvous::wire
