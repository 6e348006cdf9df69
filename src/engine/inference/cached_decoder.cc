#include "inference/cached_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/linear.h"
#include "model/segments.h"

namespace troika::inference {
using model::KeyValueCache;
using model::view;

CachedDecoder::CachedDecoder(const config::ModelSettings& model, const std::vector<tensor::Tensor>& parameters,
                             std::int64_t context)
    : model_(model),
      parameters_(parameters),
      positions_(model::make_positions(model, context, parameters.front().device())) {
  for (int segment = 1; segment <= static_cast<int>(model.layers); ++segment)
    blocks_.emplace_back(model, positions_, model::groups_of({}), shape::Trained(), segment);
}

KeyValueCache CachedDecoder::new_cache() const {
  const tensor::Tensor& like = parameters_.front();
  return {model_, like.is_cpu() ? like.type().of(tensor::Dtype::fp32) : like.type()};
}

void CachedDecoder::check(const std::vector<Continuation>& sequences) const {
  std::vector<const KeyValueCache*> caches;
  for (const Continuation& one : sequences) {
    caches.push_back(one.cache);
    const auto count = static_cast<std::int64_t>(one.ids.size());
    if (count == 0 || one.cache->length() + count > context())
      throw base::BugError(
          fmt::format("{} ids after {} in a decoder for {} positions", count, one.cache->length(), context()));
    const auto [lowest, highest] = std::minmax_element(one.ids.begin(), one.ids.end());
    if (*lowest < 0 || *highest >= model_.vocab)
      throw base::BugError(fmt::format("ids from {} to {} for a vocabulary of {}", *lowest, *highest, model_.vocab));
  }
  std::sort(caches.begin(), caches.end());
  if (std::adjacent_find(caches.begin(), caches.end()) != caches.end())
    throw base::BugError("one cache for two sequences");
}

tensor::Tensor CachedDecoder::pass(const std::vector<const Continuation*>& sequences, std::int64_t first,
                                   std::int64_t count) const {
  std::vector<std::int64_t> ids, positions;
  model::NewRows rows;
  for (const Continuation* one : sequences) {
    const std::int64_t position = one->cache->length();
    rows.parts.push_back({one->cache, static_cast<std::int64_t>(ids.size()), count});
    for (std::int64_t i = 0; i < count; ++i) {
      ids.push_back(one->ids[static_cast<std::size_t>(first + i)]);
      positions.push_back(position + i);
    }
    one->cache->reserve(position + count);
  }
  const auto on_device = [&](const std::vector<std::int64_t>& values) {
    return tensor::of(values).to(parameters_.front().device());
  };
  const tensor::Tensor positions_M = on_device(positions);
  if (!positions_.learned()) rows.rope = kernels::rows(positions_.rope, positions_M);
  if (positions_.local.cos_TI.defined()) rows.local = kernels::rows(positions_.local, positions_M);
  tensor::Tensor x_MD = model::embed(model_, parameters_.front(), on_device(ids), positions_M);
  model::Tokens tokens;
  tokens.M = x_MD.size(0);
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    const model::BlockHalves& halves = blocks_[block];
    const tensor::Tensor& flat = parameters_[1 + block];
    model::StreamSum stream{x_MD, {}};
    if (halves.attention)
      stream = {halves.attention->extend(view(flat, halves.own_of_attention), x_MD, rows, static_cast<std::int64_t>(block)),
                x_MD};
    model::FeedForwardSaved unused;
    x_MD = halves.feed_forward.forward({view(flat, halves.own_of_feed_forward), {}}, stream, tokens,
                                       shape::SavedActivations::none, unused);
  }
  for (const Continuation* one : sequences) one->cache->lengthen(count);
  return x_MD;
}

tensor::Tensor CachedDecoder::logits(const tensor::Tensor& x_MD) const {
  model::SegmentBuffer head{parameters_[static_cast<std::size_t>(1 + model_.layers)], {}, {}};
  if (model_.tie_embeddings) head.tied = parameters_.front();
  return model::head_logits(model_, head, x_MD);
}

tensor::Tensor CachedDecoder::last_row(const Continuation& sequence) const {
  constexpr std::int64_t most_rows = 512;
  const auto count = static_cast<std::int64_t>(sequence.ids.size());
  tensor::Tensor x_MD;
  for (std::int64_t first = 0; first < count; first += most_rows)
    x_MD = pass({&sequence}, first, std::min(most_rows, count - first));
  return x_MD.narrow(0, x_MD.size(0) - 1, 1);
}

tensor::Tensor CachedDecoder::extend(const std::vector<Continuation>& sequences) const {
  check(sequences);
  const tensor::Tensor logits_BV = tensor::empty({static_cast<std::int64_t>(sequences.size()), model_.vocab},
                                                 parameters_.front().type().of(tensor::Dtype::fp32));
  std::vector<std::size_t> single;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].ids.size() == 1) {
      single.push_back(i);
    } else {
      logits_BV.narrow(0, static_cast<std::int64_t>(i), 1).copy_from(logits(last_row(sequences[i])));
    }
  }
  constexpr std::size_t together = kernels::independent_rows;
  for (std::size_t first = 0; first < single.size(); first += together) {
    std::vector<const Continuation*> group;
    for (std::size_t i = first; i < std::min(first + together, single.size()); ++i)
      group.push_back(&sequences[single[i]]);
    const tensor::Tensor of_group = logits(pass(group, 0, 1));
    for (std::size_t i = 0; i < group.size(); ++i)
      logits_BV.select(0, static_cast<std::int64_t>(single[first + i])).copy_from(of_group[static_cast<std::int64_t>(i)]);
  }
  return logits_BV;
}

}  // namespace troika::inference
