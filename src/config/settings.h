// The settings of a run as plain values, before and after resolution. Defaults stand here and nowhere else.
// The table in fields.h names every member once; YAML, flags, help, printing and docs come from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troika::config {

struct ModelSettings {
  std::string preset = "qwen3-tiny";
  std::string path;                    // a model folder, an adapter, a checkpoint or a run; empty: new weights
  std::string base;                    // the model beside an adapter at path; empty: the one that it names
  std::string architecture = "qwen3";  // qwen3, qwen2, llama, mistral, gpt2
  std::int64_t layers = 4;
  std::int64_t hidden = 256;   // D, width of the residual stream
  std::int64_t heads = 4;      // N, query heads
  std::int64_t kv_heads = 2;   // K, key/value heads
  std::int64_t head_dim = 64;  // H
  std::int64_t ffn = 768;      // F, width of the feed-forward
  std::int64_t vocab = 0;      // V; 0: the tokenizer's size, rounded up to a multiple of 64
  std::int64_t max_positions = 40960;
  double rope_theta = 1e6;
  std::string rope_scaling = "none";  // none, linear, llama3: how rotary frequencies are stretched
  double rope_factor = 8;             // of linear and llama3
  double rope_low_freq_factor = 1;    // of llama3
  double rope_high_freq_factor = 4;
  std::int64_t rope_original_positions = 8192;
  double norm_eps = 1e-6;
  double init_std = 0.02;
  bool tie_embeddings = true;
  std::int64_t middle_layers = 0;  // keep only this many transformer layers; 0: all
};

struct LoraSettings {           // low-rank adapters beside frozen weights
  std::int64_t rank = 0;        // 0: none
  double alpha = 0;             // the adapter's product counts alpha / rank times; 0: 2 x rank
  double dropout = 0;           // of the adapter's input
  std::string targets = "all";  // all, or products by name: q_proj,v_proj
  std::string path;             // an adapter to begin with: a PEFT folder or a run; empty: a new one
};

struct DataSettings {
  std::string train;       // sources, parted by commas: files, folders, token shards, or names in dataset_info.json
  std::string valid;       // the same, to evaluate on; empty: none
  double valid_share = 0;  // of the samples of train kept for evaluation; 1 and above: a count
  std::string folder;      // with dataset_info.json, whose names train and valid may use
  std::string format = "auto";         // auto, text, alpaca, sharegpt, messages, tokenized
  std::vector<double> weights;         // of the sources of train, in their order; empty: 1 each
  std::string mix = "concat";          // what weights mean: concat, under, over
  std::int64_t max_samples = 0;        // of each source, its first ones; 0: all
  std::string chat_template = "auto";  // auto: the tokenizer's own; chatml, alpaca; or a Jinja file
  bool thinking = true;                // enable_thinking of the template
  std::string loss_on = "answers";     // answers, last_answer, all
  bool packing = false;                // several samples in one sequence
  bool dedup = true;                   // equal samples count once
  bool shuffle = true;                 // a new order every epoch
  std::string tokenizer = "bytes";     // bytes, a folder with tokenizer.json, or the file
  std::string cache;                   // folder of prepared shards; empty: OUT/data
  std::string text_key = "text";       // of a JSONL object
  std::int64_t prefetch = 4;           // microbatches read ahead
  std::int64_t workers = 0;            // tokenizing threads; 0: all cores
};

struct BatchSettings {  // unset members are derived; resolve.h has the rules
  std::int64_t seq_len = 256;
  std::optional<std::int64_t> micro_batch_size;   // sequences in one forward
  std::optional<std::int64_t> global_batch_size;  // sequences per optimizer step, all ranks
  std::optional<std::int64_t> microbatches;       // per data-parallel rank and step, accumulation included
  std::optional<std::int64_t> batch_size;         // per data-parallel rank and accumulation round (familiar spelling)
  std::optional<std::int64_t> num_microbatches;   // per data-parallel rank and accumulation round (familiar spelling)
  std::int64_t accumulation = 1;                  // rounds per step (familiar spelling)
  std::optional<std::int64_t> total_batch_size;   // tokens per optimizer step (familiar spelling)
  bool find_micro_batch_size = false;             // the largest that fits, instead of the one stated
};

struct ParallelSettings {
  std::int64_t dp = 0;  // 0: what remains of the world
  std::int64_t pp = 1;
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  bool sequence_parallel = true;           // between the split layers of a block each tp rank keeps a part of the rows
  std::int64_t zero = 0;                   // 1: optimizer state split over dp x cp; 2: gradients too; 3: parameters too
  std::int64_t virtual_stages = 1;         // stages per pipeline rank
  std::string schedule = "1f1b";           // gpipe, 1f1b, interleaved, zb-h1
  std::string schedule_file;               // a step program as text; empty: `schedule` builds it
  std::vector<std::int64_t> stage_layers;  // transformer layers per stage, pp x virtual_stages; empty: split by cost
  std::vector<double> stage_costs;         // relative seconds per segment; empty: by stage_balance
  std::string stage_balance = "model";     // model: cut by multiply-adds; measured: by seconds measured at the start
  std::string recompute = "none";          // none, full, selective
  std::string offload = "none";            // none, host, file: where optimizer state lies between steps
  std::string offload_folder;              // of `file`; empty: OUT/offload
  bool overlap = true;                     // transfers of parameters and gradients beside computation
  std::string reproducible = "run";        // run, bits, off
};

struct OptimizerSettings {
  double lr = 3e-4;
  double min_lr = 3e-5;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;              // 0: no clipping
  std::string lr_schedule = "cosine";  // cosine, linear, constant
  std::int64_t warmup_steps = 0;
  double warmup_ratio = 0;  // of all steps, used when warmup_steps is 0
};

struct PrecisionSettings {
  std::string compute = "fp32";  // fp32, bf16, fp16; the optimizer is fp32 in all three
  // The loss scale of fp16.
  double loss_scale = 65536;              // at the start
  std::int64_t loss_scale_window = 2000;  // steps without overflow after which it grows
  double loss_scale_growth = 2;           // factor of a growth
  double loss_scale_backoff = 0.5;        // factor after an overflow
  double loss_scale_min = 1;              // never below
};

struct TrainSettings {
  std::string preset = "none";        // none, conservative, balanced, aggressive: model size and batch for two devices
  std::string freeze;                 // parts that are not trained: embedding, head, layers as 0-3 or 7
  std::int64_t trainable_layers = 0;  // only the last N layers, or the first -N, are trained; 0: all
  std::int64_t steps = 0;             // 0: epochs decide
  double epochs = 1;                  // used when steps is 0
  std::uint64_t seed = 1234;
  std::string device = "auto";  // auto, cpu, cuda
  std::string out = "runs/default";
  std::string resume = "auto";  // auto, never, or a path
  std::int64_t threads = 0;     // per rank; 0: cores of the host / ranks on it
  std::string profile = "";     // steps to record: "", "all", "3", "2,5-7"
  std::int64_t eval_every = 0;  // steps between evaluations on data.valid; 0: only at the end
};

struct CheckpointSettings {
  std::int64_t every = 0;  // steps; 0: only at the end
  std::int64_t keep = 2;   // newest complete ones kept
  bool keep_best = true;   // and the one with the lowest loss on data.valid
};

struct CommSettings {
  std::string backend = "auto";   // auto, gloo
  std::string interface;          // network interface name; empty: the one that reaches the master
  double timeout_seconds = 120;   // a transfer that takes longer is an error
  double join_seconds = 120;      // waiting for all ranks at the start
  double heartbeat_seconds = 10;  // a rank silent for longer is taken for dead
};

struct LogSettings {
  std::string level = "info";
  std::string progress = "auto";  // auto: a bar on a terminal, lines elsewhere; bar, lines, none
};

struct Settings {
  ModelSettings model;
  LoraSettings lora;
  DataSettings data;
  BatchSettings batch;
  ParallelSettings parallel;
  OptimizerSettings optimizer;
  PrecisionSettings precision;
  TrainSettings train;
  CheckpointSettings checkpoint;
  CommSettings comm;
  LogSettings log;
};

}  // namespace troika::config
