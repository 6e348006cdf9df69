#include "config/lora.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::config {
namespace {

using Errors = std::vector<base::Text>;

// "3" or "0-3": the first and the last layer.
bool parse_layers(const std::string& part, std::int64_t* first, std::int64_t* last) {
  const std::size_t dash = part.find('-');
  if (dash == std::string::npos) return base::parse_int(part, first) && base::parse_int(part, last);
  return base::parse_int(part.substr(0, dash), first) && base::parse_int(part.substr(dash + 1), last);
}

void freeze_layers(const std::string& part, std::int64_t layers, std::vector<bool>* trained, Errors* errors) {
  std::int64_t first = 0, last = 0;
  if (!parse_layers(part, &first, &last) || first < 0) {
    errors->push_back(base::say("train.freeze takes embedding, head, and layers such as 7 or 0-3, not '{}'", part));
  } else if (last < first || last >= layers) {
    errors->push_back(base::say("train.freeze '{}' is not in the model's layers 0-{}{}", part, layers - 1,
                                last < first ? base::say(": {} is below {}", last, first) : base::Text{}));
  } else {
    std::fill(trained->begin() + first + 1, trained->begin() + last + 2, false);
  }
}

void freeze_parts(const std::string& list, std::int64_t layers, std::vector<bool>* trained, Errors* errors) {
  for (const std::string& word : base::split(list, ',')) {
    const std::string part = base::trim(word);
    if (part == "embedding") {
      trained->front() = false;
    } else if (part == "head") {
      trained->back() = false;
    } else {
      freeze_layers(part, layers, trained, errors);
    }
  }
}

// The last N, or the first -N.
void keep_layers(std::int64_t count, std::int64_t layers, std::vector<bool>* trained, Errors* errors) {
  if (std::abs(count) > layers) {
    errors->push_back(base::say("train.trainable_layers is {}, but the model has {}: from {} to {}", count, base::counted_text(layers, "layer"), -layers, layers));
    return;
  }
  std::fill(trained->begin(), trained->end(), false);
  const std::int64_t first = count > 0 ? layers - count : 0;
  std::fill_n(trained->begin() + 1 + first, std::abs(count), true);
}

void refuse_half_a_table(const Settings& s, const std::vector<bool>& trained, Errors* errors) {
  if (!s.model.tie_embeddings || trained.front() == trained.back()) return;
  errors->push_back(base::say("train.freeze '{}' names only the {}, but the head of this model shares the embedding's table (model.tie_embeddings): freeze both, as embedding,head, or neither", s.train.freeze, trained.back() ? "embedding" : "head"));
}

std::vector<bool> segments_of(const Settings& s, Errors* errors) {
  std::vector<bool> trained(static_cast<std::size_t>(s.model.layers) + 2, true);
  const bool frozen = !s.train.freeze.empty(), chosen = s.train.trainable_layers != 0;
  if (s.lora.rank > 0) {
    if (frozen || chosen) {
      errors->push_back(
          base::say("{} and lora.rank {} are mutually exclusive: adapters freeze all other weights", frozen ? "train.freeze" : "train.trainable_layers", s.lora.rank));
    }
    trained.assign(trained.size(), false);
    return trained;
  }
  if (frozen && chosen) {
    errors->push_back(base::say("train.freeze '{}' and train.trainable_layers {} are mutually exclusive: set what is frozen, or what is not", s.train.freeze, s.train.trainable_layers));
    return trained;
  }
  if (frozen) freeze_parts(s.train.freeze, s.model.layers, &trained, errors);
  if (chosen) keep_layers(s.train.trainable_layers, s.model.layers, &trained, errors);
  if (!errors->empty()) return trained;
  refuse_half_a_table(s, trained, errors);
  if (std::count(trained.begin(), trained.end(), true) == 0)
    errors->push_back(base::say("train.freeze '{}' leaves nothing to train: leave out a part", s.train.freeze));
  return trained;
}

}  // namespace

std::vector<bool> trained_segments(const Settings& settings) {
  Errors errors;
  std::vector<bool> trained = segments_of(settings, &errors);
  if (!errors.empty()) throw base::ConfigError(base::lines(errors));
  return trained;
}

void check_freeze(const Settings& settings, Findings* findings) {
  Errors errors;
  segments_of(settings, &errors);
  findings->errors.insert(findings->errors.end(), errors.begin(), errors.end());
}

}  // namespace troika::config
