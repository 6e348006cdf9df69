#include "inference/sampling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/exact_math.h"
#include "base/json.h"
#include "base/say.h"

namespace troika::inference {
namespace {

struct Candidate {
  std::int32_t id = 0;
  double weight = 0;  // relative to the likeliest, which has 1
};
using Candidates = std::vector<Candidate>;

bool likelier(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
}

float logit(const std::vector<float>& logits, std::int32_t id) { return logits[static_cast<std::size_t>(id)]; }

std::int32_t likeliest(const std::vector<float>& logits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  const bool ordered = std::none_of(logits.begin(), logits.end(), [](float x) { return std::isnan(x); });
  if (!ordered || !std::isfinite(*best))
    throw base::DataError(
        base::say("the model's logits are not finite; its weights are damaged, or too large for fp16: try --precision.compute fp32"));
  return static_cast<std::int32_t>(best - logits.begin());
}

// In the order of their ids, or the k likeliest in the order of their logits.
std::vector<std::int32_t> top_ids(const std::vector<float>& logits, std::int64_t k) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  if (k <= 0 || k >= static_cast<std::int64_t>(ids.size())) return ids;
  std::partial_sort(ids.begin(), ids.begin() + k, ids.end(), [&](std::int32_t a, std::int32_t b) {
    return logit(logits, a) != logit(logits, b) ? logit(logits, a) > logit(logits, b) : a < b;
  });
  ids.resize(static_cast<std::size_t>(k));
  return ids;
}

double sum_of_weights(const Candidates& all) {
  return std::accumulate(all.begin(), all.end(), 0.0, [](double sum, const Candidate& c) { return sum + c.weight; });
}

// The likeliest that together first reach `share` of all; sorts more and more of them until they do.
void keep_share(Candidates& all, double share) {
  const double enough = share * sum_of_weights(all);
  double kept = 0;
  std::size_t count = 0, sorted = 0;
  while (count < all.size() && (count == 0 || kept < enough)) {
    if (count == sorted) {
      sorted = std::min(all.size(), std::max<std::size_t>(64, 8 * sorted));
      const auto at = [&](std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
      std::partial_sort(at(count), at(sorted), all.end(), likelier);
    }
    kept += all[count++].weight;
  }
  all.resize(count);
}

}  // namespace

void SeenIds::add(std::int32_t id) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= seen_.size()) seen_.resize(index + 1);
  if (seen_[index]) return;
  seen_[index] = true;
  ids_.push_back(id);
}

void penalise_repetition(std::vector<float>& logits, const SeenIds& seen, double penalty) {
  if (penalty == 1) return;
  const auto factor = static_cast<float>(penalty);
  for (const std::int32_t id : seen.ids()) {
    if (static_cast<std::size_t>(id) >= logits.size()) continue;
    float& value = logits[static_cast<std::size_t>(id)];
    value = value > 0 ? value / factor : value * factor;
  }
}

std::int32_t draw(const std::vector<float>& logits, const Sampling& sampling, double u) {
  const std::int32_t best = likeliest(logits);
  if (sampling.temperature == 0) return best;
  const double top = logit(logits, best);
  Candidates all;
  for (const std::int32_t id : top_ids(logits, sampling.top_k))
    all.push_back({id, base::exp((static_cast<double>(logit(logits, id)) - top) / sampling.temperature)});
  if (sampling.top_p < 1) keep_share(all, sampling.top_p);
  if (sampling.min_p > 0) {
    const auto unlikely = [&](const Candidate& c) { return c.weight < sampling.min_p; };
    all.erase(std::remove_if(all.begin(), all.end(), unlikely), all.end());
  }
  double target = u * sum_of_weights(all);
  for (const Candidate& c : all) {
    if (target < c.weight) return c.id;
    target -= c.weight;
  }
  return best;  // only by rounding
}

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  const auto empty = [](const std::string& stop) { return stop.empty(); };
  if (std::any_of(stops_.begin(), stops_.end(), empty))
    throw base::ConfigError(base::say("a stop text is empty; give --stop at least one character"));
}

std::string StopText::add(std::string_view bytes) {
  if (found_) return {};
  held_ += bytes;
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
  found_ = first != std::string::npos;
  const std::size_t certain = found_ ? first : possible_beginning();
  std::string text = held_.substr(0, certain);
  held_.erase(0, found_ ? held_.size() : certain);
  return text;
}

std::string StopText::rest() {
  std::string text;
  text.swap(held_);
  return text;
}

std::size_t StopText::possible_beginning() const {
  std::size_t first = held_.size();
  for (const std::string& stop : stops_) {
    for (std::size_t length = std::min(stop.size() - 1, held_.size()); length > 0; --length) {
      if (held_.compare(held_.size() - length, length, stop, 0, length) != 0) continue;
      first = std::min(first, held_.size() - length);
      break;
    }
  }
  return first;
}

namespace {
using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& key, const Json& value, const base::Text& must, base::Origin origin) {
  throw base::DataError(base::say("{}: {} is {} but must be {}", origin, key,
                                    value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60), must));
}

const Json* find(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> number(const Json& object, const std::string& key, double low, double high, base::Origin origin) {
  const Json* value = find(object, key);
  if (value == nullptr) return {};
  if (!value->is_number() || value->get<double>() < low || value->get<double>() > high)
    refuse(key, *value, base::say("a number from {} to {}", low, high), origin);
  return value->get<double>();
}

std::int32_t id(const Json& value, base::Origin origin) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 0x7fffffff)
    refuse("eos_token_id", value, base::say("one or more token ids"), origin);
  return value.get<std::int32_t>();
}

}  // namespace

GenerationConfig parse_generation_config(std::string_view json, base::Origin origin) {
  const Json object = base::parse_json(json, origin);
  if (!object.is_object()) throw base::DataError(base::say("{} is not a JSON object", origin));
  GenerationConfig config;
  if (const Json* sample = find(object, "do_sample")) {
    if (!sample->is_boolean()) refuse("do_sample", *sample, base::say("true or false"), origin);
    config.do_sample = sample->get<bool>();
  }
  config.temperature = number(object, "temperature", 0, 100, origin);
  config.top_p = number(object, "top_p", 0, 1, origin);
  config.min_p = number(object, "min_p", 0, 1, origin);
  config.repetition_penalty = number(object, "repetition_penalty", 0.01, 100, origin);
  if (const auto k = number(object, "top_k", 0, 1e15, origin))
    config.top_k = static_cast<std::int64_t>(std::min(*k, 1e7));
  if (const Json* ends = find(object, "eos_token_id")) {
    for (const Json& one : ends->is_array() ? *ends : Json::array({*ends})) config.stop_ids.push_back(id(one, origin));
  }
  return config;
}

base::Text foreign_stop_ids(const GenerationConfig& config, std::int64_t vocab) {
  std::vector<std::int32_t> foreign;
  for (const std::int32_t id : config.stop_ids)
    if (id >= vocab) foreign.push_back(id);
  if (foreign.empty()) return {};
  return base::say("eos_token_id has {}, but the vocabulary has {} tokens, so generation cannot end there",
                   fmt::join(foreign, ", "), vocab);
}

}  // namespace troika::inference
