#include "data/opened_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "data/mixture.h"
#include "data/chat_template.h"

namespace troika::data {
namespace {

using Parts = std::vector<std::shared_ptr<const Samples>>;

using Weighted = std::pair<Source, double>;

std::vector<Weighted> weighted_sources(const OpenRequest& request, const config::DataSettings& settings) {
  const std::vector<double>& weights = settings.weights;
  const bool equal = weights.empty() || request.reading == Reading::evaluation;
  std::vector<Weighted> weighted;
  for (const Source& source : find_sources(request.stated, settings))
    weighted.emplace_back(source, equal || weighted.size() >= weights.size() ? 1 : weights[weighted.size()]);
  if (!equal && weights.size() != weighted.size())
    throw base::ConfigError(base::say("data.weights has {} numbers for {} sources of data.train; give one for each", weights.size(), weighted.size()));
  return weighted;
}

std::shared_ptr<const Samples> mixed(const Parts& parts, const std::vector<double>& weights, Mix mix,
                                     std::uint64_t seed) {
  if (parts.size() == 1 && weights.front() == 1) return parts.front();
  std::vector<MixtureSource> sources;
  for (std::size_t i = 0; i < parts.size(); ++i) sources.push_back({parts[i], weights[i]});
  return std::make_shared<const MixtureSamples>(std::move(sources), mix, seed);
}

// The last part of each name, or the whole one where others end so too; a number behind names that are equal.
std::vector<SourcePart> named_parts(const std::vector<std::string>& names, const Parts& parts) {
  const auto short_name = [](std::string name) {
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    return name.substr(name.rfind('/') + 1);
  };
  std::map<std::string, int> ends, given;
  for (const std::string& name : names) ++ends[short_name(name)];
  std::vector<SourcePart> named;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string name = ends[short_name(names[i])] > 1 ? names[i] : short_name(names[i]);
    const int count = ++given[name];
    named.push_back({count > 1 ? fmt::format("{}#{}", name, count) : name, parts[i]->samples()});
  }
  return named;
}

// How many samples an epoch has of each source, where that is not what the source has.
void report_epoch(const Samples& all, const std::vector<std::string>& names, std::vector<base::Text>* report) {
  const auto* mixture = dynamic_cast<const MixtureSamples*>(&all);
  if (mixture == nullptr) return;
  std::vector<base::Text> parts, without;
  for (std::size_t i = 0; i < names.size(); ++i) {
    parts.push_back(base::say("'{}': {}", names[i], mixture->samples_of(i)));
    if (mixture->samples_of(i) == 0) without.push_back(base::say("note: an epoch contains no sample of '{0}' because its weight is too small: raise it in data.weights, or set it to 0", names[i]));
  }
  report->push_back(base::say("samples in an epoch: {} ({})", mixture->samples(), base::join(parts, ", ", "，")));
  report->insert(report->end(), without.begin(), without.end());
}

// Cuts every source in two; gives the parts for evaluation, and leaves their names.
Parts split_all(Parts* parts, std::vector<std::string>* names, double share, const OpenRequest& request) {
  std::vector<std::int64_t> sizes;
  for (const auto& part : *parts) sizes.push_back(part->samples());
  const std::vector<std::int64_t> counts = validation_counts(sizes, share, request.stated);
  Parts validation;
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    if (counts[i] == 0) continue;
    kept.push_back((*names)[i]);
    const Split halves = split((*parts)[i], counts[i], request.seed);
    (*parts)[i] = halves.training;
    validation.push_back(halves.validation);
  }
  *names = kept;
  return validation;
}

}  // namespace

OpenedSamples open_samples(const OpenRequest& request, const config::DataSettings& settings,
                           const tokenizer::Tokenizer& tokenizer, const OnProgress& on_progress) {
  const std::vector<Weighted> sources = weighted_sources(request, settings);
  std::optional<ChatTemplate> chat_template;  // read where the first conversations are met
  const auto the_template = [&]() -> const ChatTemplate& {
    if (!chat_template)
      chat_template = open_chat_template(settings.chat_template, settings.tokenizer, settings.thinking,
                                         tokenizer.id_to_bytes(tokenizer.end_of_document_id()));
    return *chat_template;
  };
  const Opening opening{settings,        tokenizer,     the_template,    request.cache,
                        request.seq_len, request.vocab, request.reading, on_progress};
  OpenedSamples opened;
  Parts parts;
  std::vector<double> weights;
  std::vector<std::string> names;
  for (const auto& [source, weight] : sources) {
    if (weight == 0) {
      opened.report.push_back(base::say("'{}': left out, its weight is 0", source.name));
      continue;
    }
    const OpenedSource one = open_source(source, opening);
    parts.push_back(one.samples);
    names.push_back(source.name);
    weights.push_back(weight);
    opened.vocab = std::max(opened.vocab, one.vocab);
    opened.tokens += one.tokens;
    opened.truncated += one.truncated;
    opened.report.insert(opened.report.end(), one.report.begin(), one.report.end());
  }
  const bool training = request.reading == Reading::training;
  if (training && settings.valid_share > 0) {
    const Parts validation = split_all(&parts, &names, settings.valid_share, request);
    opened.parts = named_parts(names, validation);
    opened.validation = mixed(validation, std::vector<double>(validation.size(), 1), Mix::concat, request.seed);
    opened.report.push_back(base::say("samples kept for evaluation: {}", opened.validation->samples()));
  }
  if (!training) opened.parts = named_parts(names, parts);
  opened.samples = mixed(parts, weights, training ? settings.mix : Mix::concat, request.seed);
  report_epoch(*opened.samples, names, &opened.report);
  return opened;
}

}  // namespace troika::data
