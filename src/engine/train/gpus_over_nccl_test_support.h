// Small runs whose ranks are threads, each with a stand-in GPU of its own, and pass messages between these by the stand-in for NCCL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/nvidia_test_support.h"
#include "train/layout_runs_test_support.h"
#include "train/mortal_ranks_test_support.h"
#include "train/nccl_ranks_test_support.h"

namespace troika::train {

class GpusOverNccl : public testing::Test {
 protected:
  GpusOverNccl();

  // `layout` as apply_layout reads it, or "file" and a layout: with the program that is printed for it, read from a file.
  Rows over_nccl(const std::string& name, const std::string& layout);
  Rows over_host_memory(const std::string& name, const std::string& layout);  // on the same GPUs
  Rows on_processors(const std::string& name, const std::string& layout);

  // How a rank ends whose life is given; its thread is not the only one to go.
  enum class Death {
    reported,  // who watches it tells the others, as the launcher does of a process that is killed
    noticed,   // it leaves, and the others find that out
    silence,   // it does nothing any more until all others have ended
  };
  struct End {
    std::vector<std::string> errors;    // by rank: why it ended, "" where it had done its work
    std::vector<std::int64_t> posted;   // by rank: messages
    std::vector<std::int64_t> began;    // of these before its first step, most of them to measure links
    double seconds = 0;                 // from the death to the last one's end
  };
  // `rank` dies at its message `number`, from 0.
  End die(const std::string& layout, int rank, std::int64_t number, Death death, double deadline_seconds);
  // The same on devices that are as late and compute as processors do, in a hundredth of the time.
  End die_on_late_devices(const std::string& layout, int rank, std::int64_t number, Death death);

  LayoutRuns runs_;
  int ranks_per_host_ = 0;  // as if there were several hosts; 0: one

 private:
  Rows train(const std::string& name, const std::string& layout, const Customise& customise, const MakeChannels& channels,
             config::Backend backend);
  End die(NcclRanks& ranks, const config::Settings& settings, int rank, std::int64_t number, Death death);
  int take(const std::string& layout, const std::string& out, config::Settings* settings);
  std::vector<std::shared_ptr<tensor::Streams>> new_streams(int ranks);

  const std::unique_ptr<gpu::Nvidia> gpus_ = gpu::stand_in_gpus();
};

}  // namespace troika::train
