// What the data decide of a model's shape.
#pragma once

#include <cstdint>

namespace troika::shape {

// joined: they run into each other, attention and positions continue across them. apart: none sees another, and positions start over
// in each.
enum class Documents { joined, apart };

// The vocabulary of a model whose tokenizer has so many tokens: a multiple of 64.
constexpr std::int64_t padded_vocabulary(std::int64_t tokens) { return (tokens + 63) / 64 * 64; }

}  // namespace troika::shape
