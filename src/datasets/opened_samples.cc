#include "datasets/opened_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "datasets/mixture.h"
#include "datasets/subset.h"

namespace troika::datasets {
namespace {

using Parts = std::vector<std::shared_ptr<const data::Samples>>;

std::vector<double> weights_of(const config::DataSettings& settings, std::size_t sources, Reading reading) {
  if (settings.weights.empty() || reading == Reading::evaluation) return std::vector<double>(sources, 1);
  if (settings.weights.size() == sources) return settings.weights;
  throw base::ConfigError(fmt::format("data.weights has {} numbers for {} sources of data.train; give one for each",
                                      settings.weights.size(), sources));
}

std::shared_ptr<const data::Samples> mixed(const Parts& parts, const std::vector<double>& weights, Mix mix,
                                           std::uint64_t seed) {
  if (parts.size() == 1 && weights.front() == 1) return parts.front();
  std::vector<MixtureSource> sources;
  for (std::size_t i = 0; i < parts.size(); ++i) sources.push_back({parts[i], weights[i]});
  return std::make_shared<const MixtureSamples>(std::move(sources), mix, seed);
}

// How many samples of each source are kept, `wanted` of all together: in proportion, rounded at the running sum.
std::vector<std::int64_t> counts_of(const Parts& parts, double wanted) {
  double all = 0, before = 0;
  for (const auto& part : parts) all += static_cast<double>(part->samples());
  std::vector<std::int64_t> counts;
  std::int64_t given = 0;
  for (const auto& part : parts) {
    before += static_cast<double>(part->samples());
    const auto until = static_cast<std::int64_t>(wanted * (before / all) + 0.5);
    counts.push_back(until - given);
    given = until;
  }
  return counts;
}

// Cuts every source in two; gives the parts for evaluation.
Parts split_all(Parts* parts, double share, std::uint64_t seed) {
  const std::vector<std::int64_t> counts = share < 1 ? std::vector<std::int64_t>() : counts_of(*parts, share);
  Parts validation;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    if (share >= 1 && counts[i] == 0) continue;
    const Split halves = split((*parts)[i], share < 1 ? share : static_cast<double>(counts[i]), seed);
    (*parts)[i] = halves.training;
    validation.push_back(halves.validation);
  }
  return validation;
}

// The template is read where the first conversations are met.
class LazyTemplate {
 public:
  LazyTemplate(const config::DataSettings& settings, const data::Tokenizer& tokenizer)
      : settings_(settings), end_text_(tokenizer.id_to_bytes(tokenizer.end_of_document_id())) {}
  const ChatTemplate& get() {
    if (!opened_)
      opened_ = open_chat_template(settings_.chat_template, settings_.tokenizer, settings_.thinking, end_text_);
    return *opened_;
  }

 private:
  const config::DataSettings& settings_;
  const std::string end_text_;
  std::optional<ChatTemplate> opened_;
};

}  // namespace

OpenedSamples open_samples(const OpenRequest& request, const config::DataSettings& settings,
                           const data::Tokenizer& tokenizer, const data::OnProgress& on_progress) {
  const std::vector<Source> sources = find_sources(request.stated, settings);
  const std::vector<double> weights = weights_of(settings, sources.size(), request.reading);
  LazyTemplate chat_template(settings, tokenizer);
  const Opening opening{settings,        tokenizer,       [&]() -> const ChatTemplate& { return chat_template.get(); },
                        request.cache,   request.seq_len, request.vocab,
                        request.reading, on_progress};
  OpenedSamples opened;
  Parts parts;
  for (const Source& source : sources) {
    const OpenedSource one = open_source(source, opening);
    parts.push_back(one.samples);
    opened.vocab = std::max(opened.vocab, one.vocab);
    opened.tokens += one.tokens;
    opened.truncated += one.truncated;
    opened.report.insert(opened.report.end(), one.report.begin(), one.report.end());
  }
  const bool training = request.reading == Reading::training;
  if (training && settings.valid_share > 0) {
    const Parts validation = split_all(&parts, settings.valid_share, request.seed);
    opened.validation = mixed(validation, std::vector<double>(validation.size(), 1), Mix::concat, request.seed);
    opened.report.push_back(fmt::format("kept for evaluation: {} samples", opened.validation->samples()));
  }
  opened.samples = mixed(parts, weights, training ? mix_of(settings.mix) : Mix::concat, request.seed);
  if (parts.size() > 1) opened.report.push_back(fmt::format("an epoch has {} samples", opened.samples->samples()));
  return opened;
}

}  // namespace troika::datasets
