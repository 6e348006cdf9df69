#include "train/generate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "comm/self_channel.h"
#include "config/config.h"
#include "model/decoder.h"

namespace troika::train {
namespace {

config::Settings settings_of(const checkpoint::Found& found) {
  return config::settings_from_yaml(found.facts.settings_yaml, found.path + "/manifest.json");
}

class TextModel {
 public:
  TextModel(const config::Settings& settings, const checkpoint::Found& found)
      : decoder_(settings.model, options(settings)) {
    auto self = comm::make_self_channel("generate");
    std::vector<checkpoint::Slice> wanted;
    for (int i = 0; i < model::segment_count(settings.model); ++i) {
      const auto segment = static_cast<std::size_t>(i);
      for (const model::Slot& slot : decoder_.layouts()[segment].slots) {
        wanted.push_back({slot.info.name, slot.info.shape, slot.region,
                          decoder_.parameters()[segment].narrow(0, slot.offset, slot.elements())});
      }
    }
    checkpoint::load(found, wanted, *self);
  }

  std::vector<float> next_logits(const std::vector<std::int32_t>& context) const {
    model::Tokens tokens;
    tokens.B = 1;
    tokens.T = tokens.T_whole = static_cast<std::int64_t>(context.size());
    tokens.ids_M = at::tensor(std::vector<std::int64_t>(context.begin(), context.end()), at::kLong);
    const at::Tensor logits_BV = decoder_.next_logits(tokens).contiguous();
    return {logits_BV.data_ptr<float>(), logits_BV.data_ptr<float>() + logits_BV.numel()};
  }

 private:
  static model::Decoder::Options options(const config::Settings& settings) {
    model::Decoder::Options options;
    options.seq_len = settings.batch.seq_len;
    return options;
  }

  const model::Decoder decoder_;
};

}  // namespace

std::int64_t draw(const std::vector<float>& logits, const Sampling& sampling, double u) {
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  if (sampling.temperature == 0) return order.front();
  if (sampling.top_k > 0 && sampling.top_k < static_cast<std::int64_t>(order.size()))
    order.resize(static_cast<std::size_t>(sampling.top_k));

  const double top = logits[static_cast<std::size_t>(order.front())];
  std::vector<double> weights;
  for (const std::int64_t id : order)
    weights.push_back(std::exp((logits[static_cast<std::size_t>(id)] - top) / sampling.temperature));
  const double whole = std::accumulate(weights.begin(), weights.end(), 0.0);
  double kept = 0;
  std::size_t count = 0;
  while (count < weights.size() && (count == 0 || kept < sampling.top_p * whole)) kept += weights[count++];
  double target = u * kept;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    if (target < weights[i]) return order[i];
    target -= weights[i];
  }
  return order[count - 1];
}

void generate(const GenerateRequest& request, const std::function<void(std::int32_t)>& on_token) {
  if (request.prompt.empty()) throw base::ConfigError("the prompt is empty; give at least one character with --prompt");
  const config::Settings settings = settings_of(request.found);
  const TextModel text_model(settings, request.found);
  const base::Philox random(request.sampling.seed, "generate");
  std::vector<std::int32_t> context = request.prompt;
  const auto window = static_cast<std::size_t>(settings.batch.seq_len);
  for (std::int64_t i = 0; i < request.new_tokens; ++i) {
    if (context.size() > window) context.erase(context.begin(), context.end() - static_cast<std::ptrdiff_t>(window));
    std::vector<float> logits = text_model.next_logits(context);
    logits.resize(std::min(logits.size(), static_cast<std::size_t>(request.vocab)));
    const auto id =
        static_cast<std::int32_t>(draw(logits, request.sampling, random.uniform(static_cast<std::uint64_t>(i))));
    if (id == request.stop_id) return;
    on_token(id);
    context.push_back(id);
  }
}

}  // namespace troika::train
