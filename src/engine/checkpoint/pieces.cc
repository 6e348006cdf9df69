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
  return DataError(base::say("the checkpoint has no tensor '{}'{}; it was saved by another model", name,
                               near.empty() ? "" : fmt::format(" (the nearest is '{}')", near)));
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

}  // namespace troika::checkpoint
