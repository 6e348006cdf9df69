#include "checkpoint/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace troika::checkpoint {
using base::BugError;
using nlohmann::json;

std::string shares_to_text(const std::vector<Slice>& slices) {
  json array = json::array();
  for (const Slice& slice : slices) {
    const Region& region = slice.region;
    array.push_back({slice.name, slice.shape, {region.offset, region.run, region.stride, region.count}});
  }
  return array.dump();
}

void add_shares(const std::string& text, int rank, Shares* shares) {
  for (const json& item : base::parse_json(text, "the slices of a rank")) {
    const auto numbers = item[2].get<std::vector<std::int64_t>>();
    const Region region{numbers[0], numbers[1], numbers[2], numbers[3]};
    (*shares)[item[0].get<std::string>()].push_back({rank, item[1].get<std::vector<std::int64_t>>(), region});
  }
}

static void check_pair(const std::string& name, const Share& a, const Share& b) {
  const std::int64_t common = common_elements(a.region, b.region);
  if (common > 0)
    throw BugError(fmt::format("ranks {} and {} both save {} elements of tensor '{}'", a.rank, b.rank, common, name));
}

// With runs in one piece, neighbours in order of offset are the only ones that can overlap; strided ones are compared
// all.
static void check_overlap(const std::string& name, std::vector<Share> shares) {
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.region.offset < b.region.offset; });
  const bool in_one_piece =
      std::all_of(shares.begin(), shares.end(), [](const Share& share) { return joined(share.region).count == 1; });
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::size_t last = in_one_piece ? std::min(i + 2, shares.size()) : shares.size();
    for (std::size_t j = i + 1; j < last; ++j) check_pair(name, shares[i], shares[j]);
  }
}

void check_coverage(const Shares& all_shares) {
  for (const auto& [name, all] : all_shares) {
    std::vector<Share> shares;
    std::int64_t total = 0;
    for (const Share& share : all) {
      if (share.shape != all.front().shape)
        throw BugError(fmt::format("tensor '{}' has shape [{}] on rank {} and [{}] on rank {}", name,
                                   fmt::join(all.front().shape, ", "), all.front().rank, fmt::join(share.shape, ", "),
                                   share.rank));
      total += share.region.elements();
      if (share.region.elements() > 0) shares.push_back(share);
    }
    const std::int64_t numel = element_count(all.front().shape);
    check_overlap(name, std::move(shares));
    if (total != numel)
      throw BugError(fmt::format("the ranks save {} of the {} elements of tensor '{}'", total, numel, name));
  }
}

}  // namespace troika::checkpoint
