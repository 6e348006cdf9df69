#include "checkpoint/part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "checkpoint/gather.h"
#include "tensor/tensor.h"
#include "tensor/upload.h"

namespace troika::checkpoint {

using base::BugError;
using base::DataError;
using nlohmann::json;

static constexpr std::int64_t told_elements = 1 << 18;  // Slice::written

static void check_name_and_region(const Slice& slice) {
  const std::int64_t numel = element_count(slice.shape);
  const std::string problem = region_problem(slice.region, numel).english;
  if (!problem.empty()) throw BugError(fmt::format("the region of slice '{}' is impossible: {}", slice.name, problem));
  if (slice.name.empty() || slice.name.find('#') != std::string::npos)
    throw BugError(fmt::format("a tensor may not be named '{}'", slice.name));
}

static bool is_vector(const Slice& slice) {
  const tensor::Tensor& data = slice.data;
  return data.defined() && data.is_contiguous() && data.dims() == 1 && data.elements() == slice.region.elements();
}

void check_slice(const Slice& slice) {
  check_name_and_region(slice);
  if (!is_vector(slice) || slice.data.dtype() != tensor::Dtype::fp32)
    throw BugError(fmt::format("the data of slice '{}' is not a contiguous fp32 vector of {} elements", slice.name,
                               slice.region.elements()));
}

void check_slice_of_reals(const Slice& slice) {
  check_name_and_region(slice);
  const bool half =
      is_vector(slice) && (slice.data.dtype() == tensor::Dtype::bf16 || slice.data.dtype() == tensor::Dtype::fp16);
  if (!half) check_slice(slice);
}

static void write_data(SafetensorsWriter& writer, const std::vector<Slice>& slices, const std::function<void()>& check) {
  std::vector<tensor::Tensor> data;
  for (const Slice& slice : slices) data.push_back(slice.data);
  tensor::Download(check).read(data, [&](std::size_t index, const tensor::Tensor& piece) {
    for (std::int64_t at = 0; at < piece.elements(); at += told_elements) {
      const auto part = piece.narrow(0, at, std::min(told_elements, piece.elements() - at)).to(tensor::Dtype::fp32);
      writer.write(part.data(), part.elements() * 4);
      if (slices[index].written) slices[index].written();
    }
  });
}

WrittenFile write_part(const std::string& path, const std::vector<Slice>& slices, const std::function<void()>& check) {
  std::vector<TensorEntry> entries;
  std::map<std::string, std::string> metadata{{"format", "pt"}};
  std::map<std::string, int> uses;
  for (const Slice& slice : slices) {
    const int use = uses[slice.name]++;
    const std::string name = use == 0 ? slice.name : fmt::format("{}#{}", slice.name, use);
    const bool whole = is_whole(slice.region, element_count(slice.shape));
    entries.push_back(
        {name, base::Dtype::fp32, whole ? slice.shape : std::vector<std::int64_t>{slice.region.elements()}, 0, 0});
    if (!whole) metadata[region_prefix + name] = region_to_text(slice.region, slice.shape);
  }
  SafetensorsWriter writer(path, entries, metadata);
  write_data(writer, slices, check);
  return writer.finish();
}

std::vector<Piece> Stream::next_message(std::int64_t most_elements) {
  std::vector<Piece> message;
  while (most_elements > 0 && !done()) {
    Piece& rest = pieces[next];
    Piece now = rest;
    now.elements = std::min(rest.elements, most_elements);
    message.push_back(now);
    most_elements -= now.elements;
    rest.at += now.elements;
    rest.position += now.elements * 4;
    rest.elements -= now.elements;
    if (rest.elements == 0) ++next;
  }
  return message;
}

std::string wants_to_text(const std::vector<Slice>& slices) {
  json array = json::array();
  for (const Slice& slice : slices) array.push_back({slice.name, region_to_text(slice.region, slice.shape)});
  return array.dump();
}

std::vector<Want> wants_from_text(const std::string& text) {
  std::vector<Want> wants;
  for (const json& item : json_in(text)) {
    Want& want = wants.emplace_back();
    want.name = item[0].get<std::string>();
    region_from_text(item[1].get<std::string>(), want.name, &want.region, &want.shape);
  }
  return wants;
}

static DataError unknown_name(const std::string& name,
                              const std::map<std::string, std::vector<const PartEntry*>>& by_name) {
  std::vector<std::string> names;
  for (const auto& [known, entries] : by_name) names.push_back(known);
  const std::string near = base::nearest(name, names);
  if (near.empty())
    return DataError(base::say("the checkpoint has no tensor '{}'; it was saved from another model", name));
  return DataError(
      base::say("the checkpoint has no tensor '{}' (the nearest is '{}'); it was saved from another model", name, near));
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
      throw DataError(base::say("the checkpoint holds only {} of the {} elements of tensor '{}'", present,
                                want.region.elements(), want.name));
  }
}

void add_shares(const std::string& text, int rank, Shares* shares) {
  for (Want& want : wants_from_text(text)) (*shares)[want.name].push_back({rank, std::move(want.shape), want.region});
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
