#include "train/gpus_over_nccl_test_support.h"

#include <malloc.h>

#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "tensor/device.h"
#include "train/fake_devices_test_support.h"

namespace troika::train {

// Ranks are threads of many runs, whose heaps would fall to pieces around large tensors: 3 MB for each death.
GpusOverNccl::GpusOverNccl() {
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  auto& s = runs_.settings;
  s.model.layers = 4;
  s.model.hidden = 16;
  s.model.head_dim = 4;
  s.model.ffn = 24;
  s.batch.seq_len = 8;
  s.batch.global_batch_size = 4;
  s.train.steps = 2;
  s.train.threads = 1;
  s.checkpoint.at_end = false;
}

std::vector<std::shared_ptr<tensor::Streams>> GpusOverNccl::new_streams(int ranks) {
  if (ranks > gpus_->devices()) throw base::BugError("a test has more ranks than there are stand-in GPUs");
  std::vector<std::shared_ptr<tensor::Streams>> streams;
  for (int rank = 0; rank < ranks; ++rank) streams.push_back(tensor::make_streams(tensor::Device(*gpus_, rank)));
  return streams;
}

// Returns the world size.
int GpusOverNccl::take(const std::string& layout, const std::string& out, config::Settings* settings) {
  base::remove_tree(out);
  settings->train.out = out;
  base::make_directories(out);
  const std::string file = "file ";
  if (layout.rfind(file, 0) != 0) return apply_layout(layout, settings);
  config::Settings printed = *settings;
  const int world = apply_layout(layout.substr(file.size()), &printed);
  settings->parallel.schedule_file = out + "/schedule.txt";
  base::write_file_atomic(settings->parallel.schedule_file, to_text(plan_for(printed, world, runs_.stream()).program));
  settings->parallel.dp = printed.parallel.dp;
  settings->parallel.pp = printed.parallel.pp;
  settings->parallel.tp = printed.parallel.tp;
  settings->parallel.cp = printed.parallel.cp;
  settings->parallel.zero = printed.parallel.zero;
  return world;
}

Rows GpusOverNccl::train(const std::string& name, const std::string& layout, const Customise& customise,
                         const MakeChannels& channels, config::Backend backend) {
  config::Settings settings = runs_.settings;
  settings.comm.backend = backend;
  const int world = take(layout, runs_.folder(name), &settings);
  train_on_threads(settings, world, runs_.stream(), customise, {}, channels, nullptr, nullptr, ranks_per_host_);
  return metrics::MetricsFile(settings.train.out + "/metrics.jsonl").read();
}

static int ranks_of(const std::string& layout, config::Settings settings) {
  return apply_layout(layout.rfind("file ", 0) == 0 ? layout.substr(5) : layout, &settings);
}

Rows GpusOverNccl::over_nccl(const std::string& name, const std::string& layout) {
  NcclRanks ranks(new_streams(ranks_of(layout, runs_.settings)), 60);
  return train(
      name, layout, [&](Surroundings& surroundings, int rank) { surroundings.streams = ranks.streams(rank); },
      [&](const mesh::Shape& shape) { return ranks.channels(shape); }, config::Backend::nccl);
}

Rows GpusOverNccl::over_host_memory(const std::string& name, const std::string& layout) {
  const auto streams = new_streams(ranks_of(layout, runs_.settings));
  return train(
      name, layout,
      [&](Surroundings& surroundings, int rank) { surroundings.streams = streams.at(static_cast<std::size_t>(rank)); }, {},
      config::Backend::gloo);
}

Rows GpusOverNccl::on_processors(const std::string& name, const std::string& layout) {
  return train(name, layout, {}, {}, config::Backend::gloo);
}

namespace {

// A launcher's knowledge of its ranks.
class Watch {
 public:
  explicit Watch(std::size_t ranks) : open_(ranks) {}

  void begins(int rank, comm::RankChannels* channels) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_[static_cast<std::size_t>(rank)] = channels;
    if (!reported_.empty()) abort(*channels);
  }
  void ended(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_[static_cast<std::size_t>(rank)] = nullptr;
    if (++ended_ + 1 == open_.size()) others_ended_.notify_all();
  }
  void report(int dead, const std::string& sentence) {
    const std::lock_guard<std::mutex> lock(mutex_);
    reported_ = sentence;
    open_[static_cast<std::size_t>(dead)] = nullptr;
    for (comm::RankChannels* channels : open_)
      if (channels != nullptr) abort(*channels);
  }
  void await_others() {
    std::unique_lock<std::mutex> lock(mutex_);
    others_ended_.wait(lock, [&] { return ended_ + 1 == open_.size(); });
  }

 private:
  void abort(comm::RankChannels& channels) {
    for (auto* channel : {&channels.world, &channels.pp, &channels.tp, &channels.cp, &channels.replicas})
      (*channel)->abort(base::verbatim(reported_));
  }

  std::mutex mutex_;
  std::condition_variable others_ended_;
  std::vector<comm::RankChannels*> open_;  // by rank; null: not begun, or ended
  std::size_t ended_ = 0;
  std::string reported_;
};

}  // namespace

GpusOverNccl::End GpusOverNccl::die(const std::string& layout, int rank, std::int64_t number, Death death,
                                    double deadline_seconds) {
  config::Settings settings = runs_.settings;
  NcclRanks ranks(new_streams(take(layout, runs_.folder("dying"), &settings)), deadline_seconds);
  return die(ranks, settings, rank, number, death);
}

GpusOverNccl::End GpusOverNccl::die_on_late_devices(const std::string& layout, int rank, std::int64_t number, Death death) {
  config::Settings settings = runs_.settings;
  FakeDevices devices(take(layout, runs_.folder("dying"), &settings), static_cast<std::uint64_t>(number));
  return die(devices.ranks(), settings, rank, number, death);
}

GpusOverNccl::End GpusOverNccl::die(NcclRanks& ranks, const config::Settings& asked, int mortal_rank, std::int64_t number,
                                    Death death) {
  config::Settings settings = asked;
  settings.comm.backend = config::Backend::nccl;
  const int world = ranks.size();
  const plan::Plan plan = plan_for(settings, world, runs_.stream(), nullptr, nullptr, ranks_per_host_);
  const data::TokenSamples dataset(std::shared_ptr<const data::TokenStream>(std::shared_ptr<void>(), &runs_.stream()),
                                   plan.resolved.batch.seq_len);
  Watch watch(static_cast<std::size_t>(world));
  double died_at = base::monotonic_seconds();
  const auto at_its_end = [&] {
    died_at = base::monotonic_seconds();
    if (death == Death::reported) watch.report(mortal_rank, "rank " + std::to_string(mortal_rank) + " was killed");
    if (death == Death::silence) watch.await_others();
  };
  std::vector<std::shared_ptr<Life>> lives;
  for (int rank = 0; rank < world; ++rank)
    lives.push_back(rank == mortal_rank ? std::make_shared<Life>(number, at_its_end) : std::make_shared<Life>());
  End end;
  end.errors.resize(static_cast<std::size_t>(world));
  end.began.resize(static_cast<std::size_t>(world));
  try {
    on_rank_threads(ranks.channels(plan.shape), [&](comm::RankChannels& channels, int rank) {
      tensor::set_threads(1);
      make_mortal(&channels, lives[static_cast<std::size_t>(rank)]);
      watch.begins(rank, &channels);
      Surroundings surroundings;
      surroundings.streams = ranks.streams(rank);
      const auto at = static_cast<std::size_t>(rank);
      surroundings.hooks.on_begin = [&end, &lives, at] { end.began[at] = lives[at]->posted(); };
      try {
        Trainer(plan, dataset, channels, surroundings).run();
        watch.ended(rank);
      } catch (const std::exception& error) {
        end.errors[static_cast<std::size_t>(rank)] = error.what();
        watch.ended(rank);
        throw;
      }
    });
  } catch (const Died&) {
  } catch (const base::PeerError&) {
  }
  end.seconds = base::monotonic_seconds() - died_at;
  for (const auto& life : lives) end.posted.push_back(life->posted());
  return end;
}

}  // namespace troika::train
