#include "comm/nccl_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"

namespace troika::comm::nccl {

std::string version_text(int version) {
  return version < 10000 ? fmt::format("{}.{}.{}", version / 1000, version / 100 % 10, version % 100)
                         : fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

namespace {

base::Text remedy() { return base::say("install NCCL 2.28 or later into the active Python environment (pip install nvidia-nccl-cu13; torch 2.10 and later include it), or send messages over TCP (--comm.backend gloo)"); }

template <class Function>
void find(void* library, const std::string& path, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (*function == nullptr) throw base::ConfigError(base::say("'{}' has no function {}: {}", path, name, remedy()));
}

void check_version(Api& api, const std::string& path) {
  if (api.get_version(&api.version) == Result::success && api.version >= least_version && api.version < 30000) return;
  throw base::ConfigError(
      base::say("'{}' is NCCL {}, but versions from {} to 2.99 are needed: {}", path, version_text(api.version), version_text(least_version), remedy()));
}

}  // namespace

std::shared_ptr<const Api> load(const std::string& library) {
  // NCCL has threads of its own, which must not lose their code: hence no dlclose.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) throw base::ConfigError(base::say("cannot load NCCL: {}: {}", dlerror(), remedy()));
  auto api = std::make_shared<Api>();
  find(handle, library, "ncclGetVersion", &api->get_version);
  check_version(*api, library);  // before what older ones lack
#define TROIKA_NCCL_FIND(result, name, symbol, arguments) find(handle, library, #symbol, &api->name);
  TROIKA_NCCL_FUNCTIONS(TROIKA_NCCL_FIND)
#undef TROIKA_NCCL_FIND
  return api;
}

}  // namespace troika::comm::nccl
