// Sequences per step. A setting is a member with its default and its row (rows.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/choices.h"
#include "config/settings/rows.h"

namespace troika::config {

struct BatchSettings {  // unset members are derived; resolve.h has the rules
  static constexpr std::string_view section = "batch";
  static constexpr auto title = base::Phrase("Sequences per step; settings not given are derived");

  std::int64_t seq_len = 256;
  std::optional<std::int64_t> micro_batch_size;   // sequences in one forward
  std::optional<std::int64_t> global_batch_size;  // sequences per optimizer step, all ranks
  std::optional<std::int64_t> microbatches;       // per data-parallel rank and step, accumulation included
  std::optional<std::int64_t> batch_size;         // per data-parallel rank and accumulation round (familiar spelling)
  std::optional<std::int64_t> num_microbatches;   // per data-parallel rank and accumulation round (familiar spelling)
  std::int64_t accumulation = 1;                  // rounds per step (familiar spelling)
  std::optional<std::int64_t> total_batch_size;   // tokens per optimizer step (familiar spelling)
  std::optional<std::int64_t> tokens_per_microbatch;  // in place of a number of sequences
  bool find_micro_batch_size = false;             // the largest that fits, instead of the one stated

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = BatchSettings;
    t.add("seq_len", &M::seq_len, "Sequence length.")
        .unit("tokens")
        .flags({"seq-len"})
        .familiar({"max-seq-len", "max-length", "cutoff-len", "seq-length"})
        .range(1, bounds::million * 16);
    t.add("micro_batch_size", &M::micro_batch_size, "Sequences per forward pass.")
        .unit("sequences")
        .flags({"micro-batch-size"})
        .familiar({"device-batch-size", "per-device-train-batch-size", "per-gpu-train-batch-size"})
        .unset("derived")
        .range(1, bounds::million);
    t.add("global_batch_size", &M::global_batch_size, "Sequences per optimizer step, over all ranks.")
        .unit("sequences")
        .flags({"global-batch-size"})
        .unset("derived")
        .range(1, bounds::tera);
    t.add("microbatches", &M::microbatches,
          "Microbatches per data-parallel rank and step, gradient accumulation included.")
        .unset("derived")
        .range(1, bounds::million);
    t.add("batch_size", &M::batch_size, "Sequences per data-parallel rank and gradient accumulation round.")
        .unit("sequences")
        .familiar({"batch-size"})
        .variables({"BATCH_SIZE"})
        .unset("derived; 16 when no batch setting is given")
        .range(1, bounds::million);
    t.add("num_microbatches", &M::num_microbatches,
          "Microbatches per data-parallel rank and gradient accumulation round.")
        .familiar({"num-microbatches", "microbatch-num"})
        .variables({"MICROBATCH_NUM"})
        .unset("derived; 4 when no batch setting is given")
        .range(1, bounds::million);
    t.add("accumulation", &M::accumulation, "Gradient accumulation rounds per optimizer step.")
        .familiar({"gradient-accumulation-steps"})
        .range(1, bounds::million);
    t.add("total_batch_size", &M::total_batch_size, "Tokens per optimizer step, over all ranks.")
        .unit("tokens")
        .familiar({"total-batch-size"})
        .unset("derived")
        .range(1, bounds::tera);
    t.add("tokens_per_microbatch", &M::tokens_per_microbatch,
          "Fill each microbatch with sequences in the order of the data up to this number of tokens, in place of micro_batch_size.")
        .unit("tokens")
        .unset("off")
        .range(1, bounds::tera);
    t.add("find_micro_batch_size", &M::find_micro_batch_size,
          "Use the largest micro_batch_size whose predicted memory fits, instead of the given one.")
        .flags({"find-micro-batch-size"})
        .familiar({"auto-find-batch-size"});
  }
};

}  // namespace troika::config
