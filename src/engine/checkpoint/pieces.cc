#include "checkpoint/pieces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::checkpoint {

using base::DataError;
using nlohmann::json;

Stream::Stream(std::size_t part, int server, int receiver, std::vector<Piece> pieces)
    : part_(part), server_(server), receiver_(receiver), pieces_(std::move(pieces)) {}

std::vector<Piece> Stream::next_message(std::int64_t most_elements) {
  std::vector<Piece> message;
  while (most_elements > 0 && !done()) {
    Piece& rest = pieces_[next_];
    Piece now = rest;
    now.elements = std::min(rest.elements, most_elements);
    message.push_back(now);
    most_elements -= now.elements;
    rest.at += now.elements;
    rest.position += now.elements * 4;
    rest.elements -= now.elements;
    if (rest.elements == 0) ++next_;
  }
  return message;
}

std::vector<Want> wants_of(const std::vector<Slice>& slices) {
  std::vector<Want> wants;
  for (const Slice& slice : slices) wants.push_back({slice.name, slice.shape, slice.region});
  return wants;
}

std::string wants_to_text(const std::vector<Want>& wants) {
  json array = json::array();
  for (const Want& want : wants) array.push_back({want.name, region_to_text(want.region, want.shape)});
  return array.dump();
}

std::vector<Want> wants_from_text(const std::string& text) {
  const std::string origin = "what a rank wants";
  std::vector<Want> wants;
  for (const json& item : base::parse_json(text, origin)) {
    Want want;
    want.name = item[0].get<std::string>();
    region_from_text(item[1].get<std::string>(), origin, &want.region, &want.shape);
    wants.push_back(want);
  }
  return wants;
}

static DataError unknown_name(const std::string& name,
                              const std::map<std::string, std::vector<const PartEntry*>>& by_name) {
  std::vector<std::string> names;
  for (const auto& [known, entries] : by_name) names.push_back(known);
  const std::string near = base::nearest(name, names);
  if (near.empty())
    return DataError(base::say("the checkpoint has no tensor '{}'; it was saved by another model", name));
  return DataError(
      base::say("the checkpoint has no tensor '{}' (the nearest is '{}'); it was saved by another model", name, near));
}

void check_wants(const std::vector<Want>& wants, const std::vector<std::vector<PartEntry>>& parts) {
  std::map<std::string, std::vector<const PartEntry*>> by_name;
  for (const auto& part : parts)
    for (const PartEntry& entry : part) by_name[entry.name].push_back(&entry);
  for (const Want& want : wants) {
    const auto entries = by_name.find(want.name);
    if (entries == by_name.end()) throw unknown_name(want.name, by_name);
    std::int64_t present = 0;
    for (const PartEntry* entry : entries->second) {
      if (entry->shape != want.shape)
        throw DataError(
            base::say("tensor '{}' has shape [{}] in the checkpoint and [{}] in the model; the model settings differ",
                      want.name, fmt::join(entry->shape, ", "), fmt::join(want.shape, ", ")));
      present += common_elements(want.region, entry->region);
    }
    if (present != want.region.elements())
      throw DataError(base::say("the checkpoint holds {} of the {} wanted elements of tensor '{}'", present,
                                want.region.elements(), want.name));
  }
}

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
