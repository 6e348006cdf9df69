// Do the slices of all ranks together hold every element exactly once?
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace troika::checkpoint {

// A slice without its data, with the rank that holds it.
struct Share {
  int rank = 0;
  std::vector<std::int64_t> shape;
  Region region;
};

// Shares by tensor name, and the text form that travels between ranks (one JSON array).
using Shares = std::map<std::string, std::vector<Share>>;
std::string shares_to_text(const std::vector<Slice>& slices);
void add_shares(const std::string& text, int rank, Shares* shares);

// BugError naming tensor, ranks and counts when a shape differs between ranks, elements are missing or held twice.
void check_coverage(const Shares& shares);

}  // namespace troika::checkpoint
