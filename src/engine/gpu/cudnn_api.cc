#include "gpu/cudnn_api.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"
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

namespace {

using base::Repeatable;
using base::say;

bool wide_heads(const FlashCase& of) { return of.capability / 10 == 9; }

struct Row {
  bool (*holds)(const FlashCase& of);
  base::Text (*words)(const FlashCase& of);
};

constexpr Row table[] = {
    {[](const FlashCase& of) { return of.dtype != base::Dtype::bf16 && of.dtype != base::Dtype::fp16; },
     [](const FlashCase& of) { return say("cuDNN does not support attention in {}", base::name_of(of.dtype)); }},
    {[](const FlashCase& of) { return of.H % 8 != 0 || of.H > 256 || (of.H > 128 && !wide_heads(of)); },
     [](const FlashCase& of) { return say("cuDNN supports head widths that are multiples of 8 up to {} on this GPU, not {}", wide_heads(of) ? 256 : 128, of.H); }},
    {[](const FlashCase& of) { return of.cudnn < 91501 && of.S % 128 != 0; },
     [](const FlashCase& of) { return say("cuDNN before 9.15.1 needs a multiple of 128 keys, not {}", of.S); }},
    {[](const FlashCase& of) { return of.cudnn < 91800 && of.capability / 10 == 10 && of.repeatable == Repeatable::yes; },
     [](const FlashCase&) { return say("cuDNN before 9.18 is not deterministic on this GPU (allow that with --reproducible off)"); }},
    {[](const FlashCase& of) { return !shape::flash_fits(of.repeatable, of.T, of.S, of.most_bytes); },
     [](const FlashCase& of) { return say("cuDNN needs {} MiB for each head to be deterministic (--reproducible off avoids that)", shape::flash_gradient_bytes(1, of.T, of.S) >> 20); }},
};

}  // namespace

base::Text cudnn_lacks(const FlashCase& of) {
  for (const Row& row : table)
    if (row.holds(of)) return row.words(of);
  return {};
}

}  // namespace troika::gpu
