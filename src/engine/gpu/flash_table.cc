#include "gpu/flash_table.h"

#include "base/say.h"

namespace troika::gpu {
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
     [](const FlashCase& of) { return say("cuDNN has no attention in {}", base::name_of(of.dtype)); }},
    {[](const FlashCase& of) { return of.H % 8 != 0 || of.H > 256 || (of.H > 128 && !wide_heads(of)); },
     [](const FlashCase& of) { return say("cuDNN takes head widths that are multiples of 8 up to {} on this GPU, not {}", wide_heads(of) ? 256 : 128, of.H); }},
    {[](const FlashCase& of) { return of.cudnn < 91501 && of.S % 128 != 0; },
     [](const FlashCase& of) { return say("cuDNN before 9.15.1 takes multiples of 128 keys, not {}", of.S); }},
    {[](const FlashCase& of) { return of.cudnn < 91800 && of.capability / 10 == 10 && of.repeatable == Repeatable::yes; },
     [](const FlashCase&) { return say("cuDNN before 9.18 gives no equal bits twice on this GPU (--reproducible off does without them)"); }},
    {[](const FlashCase& of) { return !shape::flash_fits(of.repeatable, of.T, of.S, of.most_bytes); },
     [](const FlashCase& of) { return say("cuDNN needs {} MiB for each head to give equal bits twice (--reproducible off does without them)", shape::flash_gradient_bytes(1, of.T, of.S) >> 20); }},
};

}  // namespace

base::Text cudnn_lacks(const FlashCase& of) {
  for (const Row& row : table)
    if (row.holds(of)) return row.words(of);
  return {};
}

}  // namespace troika::gpu
