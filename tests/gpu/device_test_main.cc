// The tests of kernels (src/engine/cuda/*_parity_test.cc), run on a device:
//
//   cuda_device_test --device cuda[:N]      a GPU
//   cuda_device_test --device stand-in      the stand-in of the driver, in the build's folder
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/error.h"
#include "gpu/device.h"
#include "gpu/device_runner_test_support.h"
#include "gpu/nvidia_test_support.h"

int main(int count, char** words) {
  using namespace troika;
  testing::InitGoogleTest(&count, words);
  const std::string device = count == 3 && std::string(words[1]) == "--device" ? words[2] : "";
  if (device.empty()) {
    std::fputs("cuda_device_test --device cuda|cuda:N|stand-in [--gtest_...]\n", stderr);
    return 2;
  }
  try {
    static const std::unique_ptr<gpu::Nvidia> stand_ins = device == "stand-in" ? gpu::stand_in_gpus() : nullptr;
    const tensor::Device place = stand_ins != nullptr ? tensor::Device(*stand_ins, 0) : gpu::pick_device(device, 0);
    std::printf("on %s, a %s\n", name_of(place).c_str(), place.accelerator().traits(place).name.c_str());
    cuda::choose_test_runner(std::make_unique<gpu::DeviceRunner>(place));
    return RUN_ALL_TESTS();
  } catch (const base::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
