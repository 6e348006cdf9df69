#include "gpu/nvidia_test_support.h"

#include <cstdlib>
#include <string>

#include "gpu/library.h"

namespace troika::gpu {

static constexpr const char* stand_in_driver = TROIKA_BINARY_DIR "/libgpu_driver_stand_in.so";
static constexpr const char* stand_in_cudnn = TROIKA_BINARY_DIR "/libgpu_cudnn_stand_in.so";

std::unique_ptr<Nvidia> stand_in_gpus(std::int64_t flash_bytes) {
  ::setenv("TROIKA_STAND_IN_DEVICES", std::to_string(stand_in_devices).c_str(), 0);
  return std::make_unique<Nvidia>(
      NvidiaParts{stand_in_driver, TROIKA_BINARY_DIR "/libgpu_blas_stand_in.so", {{80, true, [] { return std::string("text"); }}}, stand_in_cudnn, flash_bytes});
}

std::int64_t stand_in_attentions() {
  std::int64_t (*attentions)() = nullptr;
  Library(stand_in_cudnn).take("troika_stand_in_attentions", &attentions);
  return attentions();
}

void fail_stand_in(int result) {
  void (*fail)(int) = nullptr;
  Library(stand_in_driver).take("troika_stand_in_fail", &fail);
  fail(result);
}

std::int64_t waits_of_stand_in() {
  std::int64_t (*waits)() = nullptr;
  Library(stand_in_driver).take("troika_stand_in_waits", &waits);
  return waits();
}

}  // namespace troika::gpu
