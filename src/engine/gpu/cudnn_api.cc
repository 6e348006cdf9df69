#include "gpu/cudnn_api.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"
#include "gpu/flash_table.h"
#include "gpu/library.h"

namespace troika::gpu {

std::string cudnn_version(const CudnnApi& api) {
  return fmt::format("{}.{}.{}", api.version / 10000, api.version / 100 % 100, api.version % 100);
}

std::shared_ptr<const CudnnApi> load_cudnn(const std::string& library) {
  const Library loaded(library);
  auto api = std::make_shared<CudnnApi>();
#define TROIKA_CUDNN_TAKE(name, symbol, arguments) loaded.take(#symbol, &api->name);
  TROIKA_CUDNN_FUNCTIONS(TROIKA_CUDNN_TAKE)
#undef TROIKA_CUDNN_TAKE
  loaded.take("cudnnGetErrorString", &api->status_name);
  loaded.take("cudnnGetVersion", &api->get_version);
  api->version = api->get_version();
  if (api->version < least_cudnn)
    throw base::ConfigError(base::say("'{}' is cuDNN {}, but 9.10.2 or later is needed", library, cudnn_version(*api)));
  return api;
}

}  // namespace troika::gpu
