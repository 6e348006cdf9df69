// From settings to the numbers of one run: the layout and the batch arithmetic, all errors reported together.
//
// Layout: dp = world / (pp x tp x cp) when dp is 0; the product of the axes must be the world size. tp is at most heads,
// ffn and (where it is known) vocab; with cp above 1, seq_len is at least 2 x cp; reproducible=bits takes neither.
//
// Pipeline: pp x virtual_stages stages, each with at least one transformer layer. virtual_stages above 1 means the
// schedule interleaved and the other way round: the default 1f1b becomes interleaved, and interleaved with one stage
// per rank gets two; both need pp above 1. A schedule_file replaces the schedule, and these two rules. stage_layers has
// an entry per stage and sums to layers; stage_costs has layers + 2 entries, not all 0; these two and stage_balance
// measured exclude each other.
//
// Batch: global = micro x microbatches per rank x dp, three quantities, each with its spellings (batch.h). Any
// two give the third; all three, and two spellings of one, must agree. Of micro alone, one microbatch per accumulation
// round follows; of microbatches alone, about 16 sequences per rank and round; of the total alone, 4 microbatches per
// round, or the largest smaller number that divides it; of nothing, 4 microbatches of 4 sequences per round. With
// find_micro_batch_size (batch.h), micro is chosen when memory is known: the total stays where it is stated, else
// the microbatches per rank.
//
// Other rules: gpt2: kv_heads is heads, heads x head_dim is hidden, and there is no rope_scaling; all others: heads is a
// multiple of kv_heads and head_dim even; llama3's rope_low_freq_factor is below its rope_high_freq_factor; middle_layers <=
// layers (and becomes layers); seq_len <= max_positions; warmup_steps <= steps, of wsd with decay_steps added; min_lr <= lr (a
// default min_lr above lr becomes lr / 10); loss_scale >= loss_scale_min; data.valid and data.valid_share exclude each
// other, and a valid_share of 1 and above is whole; early stopping needs one of them and eval_every; a weight for each source, not all 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/settings/settings.h"

namespace troika::config {

// Batch sizes in sequences. global = micro x microbatches_per_rank x dp, or less where these do not divide it: then the last of the
// step's microbatches is smaller, and some ranks have fewer.
struct Batch {
  std::int64_t micro = 1;
  std::int64_t microbatches_per_rank = 1;
  std::int64_t microbatches = 1;  // of all data-parallel ranks
  std::int64_t global = 1;
  std::int64_t seq_len = 1;
  std::int64_t tokens_per_microbatch = 0;  // above 0: decide how many sequences a microbatch has; micro is 1, microbatches a bound

  bool is_even() const { return global == micro * microbatches; }
  std::int64_t tokens_per_step() const { return global * seq_len; }
};

// Settings whose open questions are answered for one world size. `settings` has them written back (dp, batch sizes,
// layers after middle_layers, microbatches, schedule and virtual_stages), so that printing it pins the run.
struct Resolved {
  Settings settings;
  Batch batch;
  std::int64_t row_unit = 1;            // rows of a microbatch are filled up to a multiple of it, on GPUs (model/segment.h)
  int ranks_per_host = 0;               // as far as it is known and the same everywhere; 0: as if all were on one
  std::vector<Batch> batch_candidates;  // with find_micro_batch_size: what may take its place, ascending by micro
  std::vector<base::Text> notes;       // familiar spellings ignored and the like, one sentence each
};

// A parallel.layout that is auto is for those who choose one first (planner/open_layout.h), and refused here.
//
// Validates everything that needs no file and no peer. Throws one ConfigError that lists every violation, a line each:
// the setting, its value, the rule, the nearest value that works. Resolving the result again for the same world changes
// nothing.
Resolved resolve(const Settings& settings, std::int64_t world_size);

// "global 12 = micro 1 x 6 microbatches x dp 2 (768 positions per step at seq_len 64)"
base::Text describe_batch(const Resolved& resolved);

// The steps that the timeline records: "" none, "all", or numbers and ranges such as "3" and "2,5-7".

// False for text that is none of these forms. Ranges run upwards.
bool is_profile(const std::string& profile);

// Whether step number `step` (as metrics.jsonl counts) is recorded. Malformed text records nothing.
bool is_profiled(const std::string& profile, std::int64_t step);

}  // namespace troika::config
