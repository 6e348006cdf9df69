#include "train/warm_up.h"

#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "gpu/host_accelerator_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

// A device that writes down what it is asked to do.
class Noting final : public gpu::HostAccelerator {
 public:
  void launch(const tensor::Device& device, const tensor::KernelCall& call) override {
    note(call.entry);
    HostAccelerator::launch(device, call);
  }
  using HostAccelerator::multiply;
  void multiply(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& out, const tensor::Tensor& bias,
                const tensor::Tensor& plus) override {
    std::string text = "product";
    for (const tensor::Tensor* x : {&a, &b, &out})
      for (int i = 0; i < x->dims(); ++i) text += " " + std::to_string(x->size(i)) + ":" + std::to_string(x->stride(i));
    note(text + (plus.defined() ? " added" : ""));
    HostAccelerator::multiply(a, b, out, bias, plus);
  }
  std::set<std::string> noted() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(noted_, {});
  }

 private:
  void note(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    noted_.insert(text);
  }
  std::mutex mutex_;
  std::set<std::string> noted_;
};

// And not of the norm and the update, or the fills of what the host asks for.
bool of_passes(const std::string& what) {
  for (const char* other : {"ChunkSquares", "AdamW", "RoundInto", "RoundInPlace", "FillElement"})
    if (what.find(other) != std::string::npos) return false;
  return true;
}

TEST(WarmUp, MeetsTheProductsAndKernelsOfThePassesInEveryLayout) {
  LayoutRuns runs;
  runs.settings.model.layers = 2;
  runs.settings.batch.seq_len = 8;
  runs.settings.batch.global_batch_size = 2;
  runs.settings.train.steps = 1;
  for (const char* layout : {"pp 2 bf16", "tp 2", "cp 2"}) {
    std::array<Noting, 2> devices;
    config::Settings settings = runs.settings;
    settings.train.out = runs.folder("planned");
    const int world = apply_layout(layout, &settings);
    const plan::Plan plan = plan_for(settings, world, runs.stream());
    std::vector<std::set<std::string>> warmed;
    for (int rank = 0; rank < world; ++rank) {
      Noting& device = devices[static_cast<std::size_t>(rank)];
      warm_up(plan, mesh::coordinate_of(plan.shape, rank), tensor::Device(device, 0));
      warmed.push_back(device.noted());
    }
    runs.train(layout, layout, [&](Surroundings& surroundings, int rank) {
      surroundings.streams = tensor::make_streams(tensor::Device(devices[static_cast<std::size_t>(rank)], 0));
    });
    for (int rank = 0; rank < world; ++rank) {
      int products = 0;
      for (const std::string& what : devices[static_cast<std::size_t>(rank)].noted()) {
        products += what.rfind("product", 0) == 0 ? 1 : 0;
        if (!of_passes(what)) continue;
        EXPECT_EQ(warmed[static_cast<std::size_t>(rank)].count(what), 1U) << layout << " rank " << rank << ": " << what;
      }
      EXPECT_GT(products, 5) << layout;
    }
  }
}

}  // namespace
}  // namespace troika::train
