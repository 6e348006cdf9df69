// A target's entry, and what every target does with its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Begins target `name`: libFuzzer's entry, or the one that replay_corpus calls.
#ifdef TROIKA_REPLAY
#define TROIKA_FUZZ_TARGET(name) extern "C" int replay_##name
#else
#define TROIKA_FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput
#endif

namespace troika::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace troika::fuzz
