#include "gpu/flash_table.h"

#include <fmt/format.h>

#include "cuda/score_chunks.h"

namespace troika::gpu {
namespace {

bool wide_heads(const FlashCase& of) { return of.capability / 10 == 9; }

struct Row {
  bool (*holds)(const FlashCase& of);
  std::string (*words)(const FlashCase& of);
};

constexpr Row table[] = {
    {[](const FlashCase& of) { return of.cudnn < least_cudnn; },
     [](const FlashCase& of) {
       return fmt::format("{}.{}.{} is too old: 9.10.2 or later is needed", of.cudnn / 10000, of.cudnn / 100 % 100, of.cudnn % 100);
     }},
    {[](const FlashCase& of) { return of.dtype != base::Dtype::bf16 && of.dtype != base::Dtype::fp16; },
     [](const FlashCase& of) { return fmt::format("has no attention in {}", base::name_of(of.dtype)); }},
    {[](const FlashCase& of) { return of.H % 8 != 0 || of.H > 256 || (of.H > 128 && !wide_heads(of)); },
     [](const FlashCase& of) {
       return fmt::format("takes head widths that are multiples of 8 up to {} on this GPU, not {}", wide_heads(of) ? 256 : 128, of.H);
     }},
    {[](const FlashCase& of) { return of.cudnn < 91501 && of.S % 128 != 0; },
     [](const FlashCase& of) { return fmt::format("before 9.15.1 takes multiples of 128 keys, not {}", of.S); }},
    {[](const FlashCase& of) { return of.cudnn < 91800 && of.capability / 10 == 10 && of.repeatable == tensor::Repeatable::yes; },
     [](const FlashCase&) { return std::string("before 9.18 gives no equal bits twice on this GPU (--reproducible off does without them)"); }},
    {[](const FlashCase& of) {
       return of.repeatable == tensor::Repeatable::yes && cuda::flash_gradient_bytes(1, of.T, of.S) > cuda::most_flash_bytes;
     },
     [](const FlashCase& of) {
       return fmt::format("needs {} MiB for each head to give equal bits twice (--reproducible off does without them)",
                          cuda::flash_gradient_bytes(1, of.T, of.S) >> 20);
     }},
};

}  // namespace

std::string cudnn_lacks(const FlashCase& of) {
  for (const Row& row : table)
    if (row.holds(of)) return row.words(of);
  return "";
}

}  // namespace troika::gpu
