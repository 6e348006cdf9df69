#include "train/run_start.h"
#include "train/evaluation_test_support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/draw_test_support.h"
#include "base/file.h"
#include "base/random.h"
#include "data/listed_sequences_test_support.h"
#include "data/loader.h"
#include "data/tokenized_lines.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"
#include "weights/model_source.h"

namespace troika::train {

std::unique_ptr<data::SequenceSamples> samples_of_varied_lengths(const std::string& folder, std::int64_t seq_len) {
  const base::Philox random(5, "samples");
  std::string text;
  std::uint64_t drawn = 0;
  for (const std::int64_t length : {seq_len, seq_len / 2, seq_len + 5, std::int64_t{1}, std::int64_t{2}, seq_len - 1,
                                    seq_len, seq_len / 3, seq_len, std::int64_t{7}, seq_len}) {
    std::vector<std::int64_t> ids, labels;
    for (std::int64_t t = 0; t < length; ++t) {
      ids.push_back(static_cast<std::int64_t>(random.bits(drawn++) % 259));
      labels.push_back(t < length / 2 ? -100 : ids.back());
    }
    const std::string with_labels =
        length % 2 == 1 ? fmt::format(R"(, "labels": [{}])", fmt::join(labels, ", ")) : std::string();
    text += fmt::format("{{\"input_ids\": [{}]{}}}\n", fmt::join(ids, ", "), with_labels);
  }
  base::make_directories(folder);
  const std::string path = folder + "/valid.jsonl";
  base::write_file_atomic(path, text);
  const auto lines = std::make_shared<const data::TokenizedLines>(path, 259);
  return std::make_unique<data::SequenceSamples>(data::counted_targets(lines, seq_len), seq_len);
}

std::shared_ptr<const data::Sequences> drawn_sequences(std::int64_t seq_len) {
  base::Draw draw("sequences");
  std::vector<data::ListedSequences::One> all(60);
  for (auto& [ids, labels] : all) {
    for (std::int64_t left = draw.from(1, static_cast<int>(seq_len) + 3); left > 0; --left) {
      ids.push_back(draw.from(0, 258));
      labels.push_back(draw.one_in(3) ? data::ignore_index : ids.back());
    }
  }
  return std::make_shared<const data::ListedSequences>(std::move(all));
}

std::unique_ptr<data::SequenceSamples> packed_samples(std::int64_t seq_len) {
  return std::make_unique<data::SequenceSamples>(data::counted_targets(drawn_sequences(seq_len), seq_len), seq_len,
                                                 data::SequenceSamples::Packing::several);
}

std::unique_ptr<data::SequenceSamples> samples_of(const std::vector<SampleShape>& shapes, std::int64_t seq_len) {
  std::vector<data::ListedSequences::One> all(shapes.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::int64_t t = 0; t <= shapes[i].positions; ++t) {
      all[i].ids.push_back(static_cast<std::int32_t>((31 * i + 7 * static_cast<std::size_t>(t)) % 259));
      all[i].labels.push_back(t > shapes[i].positions - shapes[i].targets ? all[i].ids.back() : data::ignore_index);
    }
  }
  return std::make_unique<data::SequenceSamples>(
      data::counted_targets(std::make_shared<data::ListedSequences>(std::move(all)), seq_len), seq_len);
}

plan::Plan evaluation_plan_for(const config::Settings& settings, int world, const data::Samples& samples) {
  return plan::make_evaluation_plan(
      config::resolve(settings, world),
      {259, samples.samples(), 0, samples.fingerprint(), samples.samples(), sizes_of_evaluation(samples)}, plan::no_limit);
}

std::vector<RankEvaluation> evaluate_on_threads(const plan::Plan& plan, const std::string& path,
                                                const data::Samples& samples,
                                                const std::vector<data::SourcePart>& sources,
                                                const Evaluating& evaluating) {
  std::vector<RankEvaluation> all(static_cast<std::size_t>(plan.shape.world()));
  const int threads = tensor::threads();
  auto all_channels = evaluating.channels ? evaluating.channels(plan.shape) : thread_channels(plan.shape);
  on_rank_threads(std::move(all_channels), [&](comm::RankChannels& channels, int rank) {
    tensor::set_threads(threads);
    executor::Observer observer;
    const auto source = weights::open_model(path, *channels.world);
    const auto streams = evaluating.streams ? evaluating.streams(rank) : tensor::make_host_streams();
    inference::EvaluationRank frozen(plan, samples, sources, channels, *streams, observer, {});
    frozen.load([&](const auto& wanted) { source->load(plan.model(), wanted, *channels.world); });
    all[static_cast<std::size_t>(rank)].evaluation = frozen.evaluate();
    all[static_cast<std::size_t>(rank)].ledger = frozen.ledger();
  });
  return all;
}

}  // namespace troika::train
