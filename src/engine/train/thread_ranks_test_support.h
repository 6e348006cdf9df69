// Runs a whole training run with its ranks as threads of this process, for tests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/temporary_folder_test_support.h"
#include "comm/threads_channel_test_support.h"
#include "data/token_stream.h"
#include "plan/plan.h"
#include "train/trainer.h"

namespace troika::train {

using base::TemporaryFolder;

// A small corpus of generated text, tokenized as bytes.
std::shared_ptr<const data::TokenStream> small_corpus(const std::string& folder);

// The model of the layout tests: 4 layers, width 64, heads 4/2 of 16, ffn 192, vocabulary 259, sequences of 32.
config::Settings small_settings(const std::string& out);

// Channels of every rank of a shape, as threads.
std::vector<comm::RankChannels> thread_channels(const mesh::Shape& shape, comm::LinkRate rate = {},
                                                double deadline_seconds = 60);

// The plan of a run on these data, and of an evaluation on `valid` (null: none). `samples`: to train on instead of the stream's.
// ranks_per_host: as if there were several hosts; 0: one.
plan::Plan plan_for(const config::Settings& settings, int world, const data::TokenStream& stream,
                    const data::Samples* valid = nullptr, const data::Samples* samples = nullptr, int ranks_per_host = 0);

// The channels of all ranks of a run, by world rank; empty: thread_channels.
using MakeChannels = std::function<std::vector<comm::RankChannels>(const mesh::Shape&)>;

// Resolves, plans and trains on `world` threads, each of which lets train.threads of OpenMP's work (0: as many as the caller);
// returns each rank's outcome. A rank's exception aborts the others and is rethrown (the lowest rank's).
using Customise = std::function<void(Surroundings&, int world_rank)>;
std::vector<Outcome> train_on_threads(const config::Settings& settings, int world, const data::TokenStream& stream,
                                      const Customise& customise = {}, const Trainer::SegmentMaker& segments = {},
                                      const MakeChannels& channels = {}, const data::Samples* valid = nullptr,
                                      const data::Samples* samples = nullptr, int ranks_per_host = 0);

// Runs one thread per rank, each with its channels. A rank's exception aborts the others and is rethrown (the lowest rank's).
void on_rank_threads(std::vector<comm::RankChannels> channels,
                     const std::function<void(comm::RankChannels& channels, int world_rank)>& run_rank);

}  // namespace troika::train
