#include "gpu/driver.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"
#include "gpu/library.h"

namespace troika::gpu {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

static std::string words_of(const Driver& driver, Result result) {
  const char *name = nullptr, *text = nullptr;
  if (driver.error_name(result, &name) != Result::success || name == nullptr) return fmt::format("error {}", static_cast<int>(result));
  return driver.error_text(result, &text) == Result::success && text != nullptr ? fmt::format("{} ({})", name, text) : name;
}

void Driver::check(Result result, const char* operation) const {
  if (result != Result::success)
    throw base::BugError(fmt::format("the GPU failed at {}: {}", operation, words_of(*this, result)));
}

std::shared_ptr<const Driver> load_driver(const std::string& library) {
  const Library loaded(library);
  auto driver = std::make_shared<Driver>();
#define TROIKA_DRIVER_TAKE(name, symbol, arguments) loaded.take(#symbol, &driver->name);
  TROIKA_DRIVER_FUNCTIONS(TROIKA_DRIVER_TAKE)
#undef TROIKA_DRIVER_TAKE
  if (driver->driver_version(&driver->version) != Result::success || driver->version < least_driver)
    throw base::ConfigError(base::say("the NVIDIA driver of this machine supports CUDA {}; CUDA {} or later is needed (driver 525 or later)", version_text(driver->version), version_text(least_driver)));
  if (const Result begun = driver->init(0); begun != Result::success)
    throw base::ConfigError(base::say("the NVIDIA driver of this machine fails to initialize: {}; check nvidia-smi and CUDA_VISIBLE_DEVICES", words_of(*driver, begun)));
  return driver;
}

}  // namespace troika::gpu
