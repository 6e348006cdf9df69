#include "records/sample_lengths.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_members.h"

namespace troika::records {
namespace {

constexpr std::size_t most_bins = 64;

// Every member with its name in the file but the bins.
template <class Of, class Visit>
void for_each_member_of_lengths(Of& l, const Visit& visit) {
  base::each_member(visit, "samples", l.samples, "counted", l.counted, "sequences", l.sequences, "tokens", l.tokens, "shortest",
                    l.shortest, "median", l.median, "p90", l.p90, "longest", l.longest, "seq_len", l.seq_len, "least_tokens",
                    l.least_tokens, "most_tokens", l.most_tokens, "mean_tokens", l.mean_tokens, "most_targets", l.most_targets, "mean_targets", l.mean_targets, "mean_squares", l.mean_squares, "longest_positions",
                    l.longest_positions, "longest_work", l.longest_work, "full_positions", l.full_positions, "full_work",
                    l.full_work);
}

}  // namespace

std::int64_t SampleLengths::if_packed() const {
  if (seq_len < 1) return samples;
  const double full = mean() / static_cast<double>(seq_len) * static_cast<double>(samples);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(full)), 1, std::max<std::int64_t>(samples, 1));
}

nlohmann::ordered_json to_json_object(const SampleLengths& lengths) {
  nlohmann::ordered_json json;
  for_each_member_of_lengths(lengths, [&](const char* name, const auto& value) { json[name] = value; });
  json["bins"] = nlohmann::ordered_json::array();
  for (const SampleLengths::Bin& bin : lengths.bins)
    json["bins"].push_back({{"above", bin.above}, {"up_to", bin.up_to}, {"samples", bin.samples}});
  return json;
}

std::optional<SampleLengths> sample_lengths_of(const nlohmann::json& object) {
  if (!object.is_object()) return std::nullopt;
  SampleLengths lengths;
  for_each_member_of_lengths(lengths, [&](const char* name, auto& value) { base::take_member(object, name, &value); });
  const auto bins = object.find("bins");
  if (lengths.counted < 1 || bins == object.end() || !bins->is_array()) return std::nullopt;
  for (const nlohmann::json& of_bin : *bins) {
    if (!of_bin.is_object() || lengths.bins.size() == most_bins) continue;
    SampleLengths::Bin& bin = lengths.bins.emplace_back();
    base::take_members(of_bin, "above", bin.above, "up_to", bin.up_to, "samples", bin.samples);
  }
  return lengths;
}

}  // namespace troika::records
