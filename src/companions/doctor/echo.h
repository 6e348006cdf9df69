// What one doctor asks another over TCP and UDP: the bytes of it.
#pragma once

#include <cstdint>

namespace troika::doctor::echo {

// TCP: a question is 12 bytes, three numbers in network order: the sign, what is asked, a count of bytes.
inline constexpr std::uint32_t sign = 0x54726b44;
enum class Ask : std::uint32_t {
  time,  // 8 bytes come back: the answerer's clock in nanoseconds since 1970, in network order
  take,  // so many bytes follow; when all have come, 8 bytes come back as above
  give,  // so many bytes come back
};
inline constexpr std::uint32_t question_bytes = 12, answer_bytes = 8;
inline constexpr std::uint32_t most_bytes = std::uint32_t{64} << 20;

// UDP: a datagram of any size that begins with the sign and a number of the asker's is answered by these 8 bytes. An answer is never
// longer than its question, so that nobody can use it to flood another.
inline constexpr std::uint32_t datagram_bytes = 8;

}  // namespace troika::doctor::echo
