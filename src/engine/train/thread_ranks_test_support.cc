#include "train/run_start.h"
#include "train/thread_ranks_test_support.h"


#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "data/prepare.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"
#include "tokenizer/tokenizer.h"

namespace troika::train {

std::shared_ptr<const data::TokenStream> small_corpus(const std::string& folder) {
  const base::Philox random(3, "corpus");
  const char* words[] = {"the ", "model ", "learns ", "a ", "layout ", "never ", "changes ", "loss\n"};
  std::string text;
  for (std::uint64_t i = 0; i < 4000; ++i) text += words[random.bits(i) % 8];
  base::write_file_atomic(folder + "/corpus.txt", text);
  return data::prepare_once({folder + "/corpus.txt"}, *tokenizer::open_tokenizer("bytes"), folder + "/cache", {}, {});
}

config::Settings small_settings(const std::string& out) {
  config::Settings s;
  s.model.layers = 4;
  s.model.hidden = 64;
  s.model.heads = 4;
  s.model.kv_heads = 2;
  s.model.head_dim = 16;
  s.model.ffn = 192;
  s.model.vocab = 259;
  s.batch.seq_len = 32;
  s.batch.micro_batch_size = 1;
  s.batch.global_batch_size = 12;
  s.train.steps = 6;
  s.train.seed = 7;
  s.train.device = "cpu";
  s.train.out = out;
  s.log.progress = config::Progress::none;
  return s;
}

std::vector<comm::RankChannels> thread_channels(const mesh::Shape& shape, comm::LinkRate rate,
                                                double deadline_seconds) {
  std::vector<comm::RankChannels> ranks(static_cast<std::size_t>(shape.world()));
  auto world = comm::make_thread_channels(shape.world(), "world", deadline_seconds, rate);
  auto saving = comm::make_thread_channels(shape.world(), "saving", deadline_seconds, rate);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].world = std::move(world[r]);
    ranks[r].saving = std::move(saving[r]);
  }
  const auto connect = [&](std::unique_ptr<comm::Channel> comm::RankChannels::*member, const std::vector<int>& group,
                           const std::string& name) {
    auto channels = comm::make_thread_channels(static_cast<int>(group.size()), name, deadline_seconds, rate);
    for (std::size_t i = 0; i < group.size(); ++i)
      ranks[static_cast<std::size_t>(group[i])].*member = std::move(channels[i]);
  };
  for (int rank = 0; rank < shape.world(); ++rank) {
    for (const auto& [axis, member] : {std::pair{mesh::Axis::pp, &comm::RankChannels::pp},
                                       {mesh::Axis::tp, &comm::RankChannels::tp},
                                       {mesh::Axis::cp, &comm::RankChannels::cp}}) {
      const auto group = mesh::group_of(shape, axis, rank);
      if (group.front() == rank) connect(member, group, mesh::group_name(shape, axis, rank));
    }
    const auto replicas = mesh::replicas_of(shape, rank);
    if (replicas.front() == rank) connect(&comm::RankChannels::replicas, replicas, mesh::replicas_name(shape, rank));
  }
  return ranks;
}

// `stream` must outlive it.
static data::TokenSamples dataset_of(const data::TokenStream& stream, std::int64_t seq_len) {
  return {std::shared_ptr<const data::TokenStream>(std::shared_ptr<void>(), &stream), seq_len};
}

static std::shared_ptr<const data::Samples> unowned(const data::Samples* samples) {
  return samples == nullptr ? nullptr : std::shared_ptr<const data::Samples>(std::shared_ptr<void>(), samples);
}

plan::Plan plan_for(const config::Settings& settings, int world, const data::TokenStream& stream,
                    const data::Samples* valid, const data::Samples* samples, int ranks_per_host) {
  config::Resolved resolved = config::resolve(settings, world);
  resolved.ranks_per_host = ranks_per_host;
  const data::TokenSamples dataset = dataset_of(stream, resolved.batch.seq_len);
  const data::Samples& used = samples == nullptr ? dataset : *samples;
  return plan::make_plan(resolved, {stream.vocab_size(), used.samples(), stream.tokens(), used.fingerprint(),
                                    valid == nullptr ? 0 : valid->samples(), sizes_of_run(unowned(&used), unowned(valid), resolved.settings)});
}

void on_rank_threads(std::vector<comm::RankChannels> channels,
                     const std::function<void(comm::RankChannels& channels, int world_rank)>& run_rank) {
  std::vector<std::exception_ptr> errors(channels.size());
  const auto run = [&](std::size_t rank) {
    try {
      run_rank(channels[rank], static_cast<int>(rank));
    } catch (...) {
      errors[rank] = std::current_exception();
      for (auto* channel : {&channels[rank].world, &channels[rank].pp, &channels[rank].tp, &channels[rank].cp,
                            &channels[rank].replicas, &channels[rank].saving})
        channel->reset();
    }
  };
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < channels.size(); ++rank) ranks.emplace_back(run, rank);
  for (auto& rank : ranks) rank.join();
  for (const auto& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

std::vector<Outcome> train_on_threads(const config::Settings& settings, int world, const data::TokenStream& stream,
                                      const Customise& customise, const Trainer::SegmentMaker& segments,
                                      const MakeChannels& make_channels, const data::Samples* valid,
                                      const data::Samples* samples, int ranks_per_host) {
  const plan::Plan plan = plan_for(settings, world, stream, valid, samples, ranks_per_host);
  const data::TokenSamples of_stream = dataset_of(stream, plan.resolved.batch.seq_len);
  const data::Samples& dataset = samples == nullptr ? of_stream : *samples;
  std::vector<Outcome> outcomes(static_cast<std::size_t>(world));
  const int threads = settings.train.threads > 0 ? static_cast<int>(settings.train.threads) : tensor::threads();
  auto all_channels = make_channels ? make_channels(plan.shape) : thread_channels(plan.shape);
  on_rank_threads(std::move(all_channels), [&](comm::RankChannels& channels, int rank) {
    tensor::set_threads(threads);
    Surroundings surroundings;
    surroundings.valid.samples = valid;
    if (customise) customise(surroundings, rank);
    Trainer trainer = segments ? Trainer(plan, dataset, channels, surroundings, segments)
                               : Trainer(plan, dataset, channels, surroundings);
    outcomes[static_cast<std::size_t>(rank)] = trainer.run();
    if (tensor::threads() != threads) throw base::BugError("a test's rank changed its number of threads");
  });
  return outcomes;
}

}  // namespace troika::train
