// The rows. To add a setting: a member with its default in settings.h and a row here.
#include <cmath>
#include <limits>

#include "config/fields.h"

namespace troika::config {
namespace {

template <auto Section, auto Member>
auto access() {
  using T = std::decay_t<decltype(std::declval<Settings&>().*Section.*Member)>;
  return Access<T>{[](Settings& s) -> T& { return s.*Section.*Member; },
                   [](const Settings& s) -> const T& { return s.*Section.*Member; }};
}

// A row under construction; each call fills one column.
struct Row {
  Field field;

  using Names = std::initializer_list<std::string_view>;
  Row& flags(Names names) { return field.flags = names, *this; }
  Row& familiar(Names names) { return field.familiar = names, *this; }
  Row& variables(Names names) { return field.variables = names, *this; }
  Row& words(Names words) { return field.words = words, *this; }
  Row& spelled(std::string_view other, std::string_view word) {
    return field.word_spellings.emplace_back(other, word), *this;
  }
  Row& range(double min, double max) { return field.min = min, field.max = max, *this; }
  Row& unit(std::string_view unit) { return field.unit = unit, *this; }
  Row& unset(std::string_view meaning) { return field.unset = meaning, *this; }
  Row& agree(Agreement agreement) { return field.agreement = agreement, *this; }
};

class Table {
 public:
  template <auto Section, auto Member>
  Row& add(std::string_view key, std::string_view help) {
    const auto dot = key.find('.');
    Field& field = rows_.emplace_back().field;
    field.section = key.substr(0, dot);
    field.name = key.substr(dot + 1);
    field.access = access<Section, Member>();
    field.help = help;
    return rows_.back();
  }
  std::vector<Field> take() {
    std::vector<Field> fields;
    fields.reserve(rows_.size());
    for (auto& row : rows_) fields.push_back(std::move(row.field));
    return fields;
  }
  void reserve(std::size_t rows) { rows_.reserve(rows); }

 private:
  std::vector<Row> rows_;
};

constexpr double million = 1048576;  // bounds that keep products of counts far from overflow
constexpr double tera = 1099511627776.0;
constexpr double tiny = std::numeric_limits<double>::min();  // "above 0"
constexpr double any_seed = 18446744073709551615.0;

void add_model(Table& t) {
  using M = ModelSettings;
  constexpr auto s = &Settings::model;
  t.add<s, &M::preset>("model.preset", "A named set of model numbers; every other model setting overrides it.")
      .familiar({"model-size"})
      .spelled("tiny", "qwen3-tiny")
      .spelled("small", "qwen3-small")
      .spelled("medium", "qwen3-medium")
      .spelled("large", "qwen3-large")
      .spelled("gpt2", "gpt2-124m")
      .spelled("llama3-1b", "llama3.2-1b")
      .spelled("llama3-3b", "llama3.2-3b")
      .spelled("mistral-7b-v0.3", "mistral-7b");
  t.add<s, &M::path>("model.path",
                     "Start from these weights: a Hugging Face model folder, an adapter's, a checkpoint or a run's.")
      .familiar({"model-name-or-path", "model-path"})
      .unset("none; new weights")
      .agree(Agreement::none);
  t.add<s, &M::base>("model.base", "The model beside an adapter at model.path, instead of the one that it names.")
      .flags({"base"})
      .unset("the one that it names")
      .agree(Agreement::none);
  t.add<s, &M::architecture>("model.architecture", "The family of decoder.")
      .words({"qwen3", "qwen2", "llama", "mistral", "gpt2"});
  t.add<s, &M::layers>("model.layers", "Transformer layers.")
      .familiar({"num-layers", "depth"})
      .variables({"NUM_LAYERS"})
      .range(1, 10000);
  t.add<s, &M::hidden>("model.hidden", "Width of the residual stream.")
      .familiar({"hidden-size"})
      .variables({"HIDDEN_SIZE"})
      .range(1, million);
  t.add<s, &M::heads>("model.heads", "Query heads; a multiple of kv_heads.").range(1, 65536);
  t.add<s, &M::kv_heads>("model.kv_heads", "Key and value heads; gpt2: as many as query heads.").range(1, 65536);
  t.add<s, &M::head_dim>("model.head_dim", "Width of one head; gpt2: hidden / heads; all others: even.")
      .range(2, 65536);
  t.add<s, &M::ffn>("model.ffn", "Width of the feed-forward layer.").range(1, million * 16);
  t.add<s, &M::vocab>("model.vocab", "Vocabulary size; 0: the tokenizer's, rounded up to a multiple of 64.")
      .familiar({"vocab-size"})
      .range(0, million * 64);
  t.add<s, &M::max_positions>("model.max_positions", "Longest sequence; gpt2 learns a vector for each position.")
      .unit("tokens")
      .range(1, million * 1024);
  t.add<s, &M::rope_theta>("model.rope_theta", "Base of the rotary position frequencies (all but gpt2).")
      .range(1, 1e12);
  t.add<s, &M::rope_scaling>("model.rope_scaling", "How rotary frequencies are stretched for longer sequences.")
      .words({"none", "linear", "llama3"});
  t.add<s, &M::rope_factor>("model.rope_factor", "By how much linear and llama3 stretch them.").range(1, 1e6);
  t.add<s, &M::rope_low_freq_factor>("model.rope_low_freq_factor",
                                     "llama3: wavelengths above original positions / this are stretched in full.")
      .range(tiny, 1e6);
  t.add<s, &M::rope_high_freq_factor>("model.rope_high_freq_factor",
                                      "llama3: wavelengths below original positions / this are not stretched.")
      .range(tiny, 1e6);
  t.add<s, &M::rope_original_positions>("model.rope_original_positions",
                                        "llama3: the longest sequence before stretching.")
      .unit("tokens")
      .range(1, million * 1024);
  t.add<s, &M::norm_eps>("model.norm_eps", "Added to the mean square (gpt2: variance) in norms.").range(0, 1);
  t.add<s, &M::init_std>("model.init_std", "Standard deviation of the initial weights.").range(0, 100);
  t.add<s, &M::tie_embeddings>("model.tie_embeddings", "Use one matrix for the input embedding and the output head.");
  t.add<s, &M::middle_layers>("model.middle_layers", "Keep only this many transformer layers; 0: all.")
      .flags({"middle-layers"})
      .range(0, 10000);
}

void add_lora(Table& t) {
  using M = LoraSettings;
  constexpr auto s = &Settings::lora;
  t.add<s, &M::rank>("lora.rank", "Width of the low-rank adapters that are trained beside frozen weights; 0: none.")
      .familiar({"lora-rank"})
      .range(0, 65536);
  t.add<s, &M::alpha>("lora.alpha", "An adapter's product counts alpha / rank times; 0: 2 x rank.")
      .familiar({"lora-alpha"})
      .range(0, 1e6);
  t.add<s, &M::dropout>("lora.dropout", "Share of an adapter's inputs that are dropped in training; below 1.")
      .familiar({"lora-dropout"})
      .range(0, std::nextafter(1.0, 0.0));
  t.add<s, &M::targets>(
       "lora.targets",
       "all, or products parted by commas: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj.")
      .familiar({"lora-target"});
  t.add<s, &M::path>("lora.path", "Begin with this adapter: a PEFT folder, a checkpoint or a run's folder.")
      .familiar({"adapter-name-or-path"})
      .unset("none; a new adapter")
      .agree(Agreement::none);
}

void add_sources(Table& t) {
  using M = DataSettings;
  constexpr auto s = &Settings::data;
  t.add<s, &M::train>("data.train",
                      "Training data, parted by commas: text, JSON or JSONL files (also .gz, .zst), folders, prepared "
                      "shards, or names in dataset_info.json.")
      .familiar({"dataset"})
      .unset("none")
      .agree(Agreement::none);
  t.add<s, &M::valid>("data.valid", "Data to evaluate on, of the same kinds; every token of it counts once.")
      .familiar({"eval-dataset", "validation-file"})
      .unset("none; no evaluation")
      .agree(Agreement::none);
  t.add<s, &M::valid_share>(
       "data.valid_share",
       "Part of the samples of data.train that is kept for evaluation; 1 and above: so many samples.")
      .familiar({"val-size"})
      .range(0, 1e12);
  t.add<s, &M::folder>("data.folder", "Folder with dataset_info.json, whose names data.train and data.valid may use.")
      .familiar({"dataset-dir"})
      .unset("none")
      .agree(Agreement::none);
  t.add<s, &M::format>("data.format", "What the sources hold; auto: found out by their first record.")
      .words({"auto", "text", "alpaca", "sharegpt", "messages", "tokenized"})
      .spelled("openai", "messages");
  t.add<s, &M::weights>("data.weights",
                        "Weights of the sources of data.train, in their order; data.mix says what they mean.")
      .familiar({"interleave-probs"})
      .unset("1 each")
      .range(0, 1e6);
  t.add<s, &M::mix>(
       "data.mix",
       "Weights are; concat: how often an epoch holds a source, under, over: shares of the sources in an epoch "
       "that ends with the first, the last source used up.")
      .familiar({"mix-strategy"})
      .words({"concat", "under", "over"})
      .spelled("interleave_under", "under")
      .spelled("interleave_over", "over");
  t.add<s, &M::max_samples>("data.max_samples", "Most samples of each source, its first ones; 0: all.")
      .familiar({"max-samples"})
      .range(0, tera);
}

void add_conversations(Table& t) {
  using M = DataSettings;
  constexpr auto s = &Settings::data;
  t.add<s, &M::chat_template>(
       "data.chat_template",
       "How conversations become text; auto: the tokenizer's own template; chatml; alpaca; or a file "
       "with a Jinja template.")
      .agree(Agreement::word_or_path);
  t.add<s, &M::thinking>("data.thinking", "Given to the template as enable_thinking.").familiar({"enable-thinking"});
  t.add<s, &M::loss_on>("data.loss_on", "Tokens of a conversation that carry loss.")
      .words({"answers", "last_answer", "all"});
  t.add<s, &M::packing>("data.packing",
                        "Several samples in one sequence, with attention and positions of their own each.")
      .familiar({"packing", "neat-packing"});
  t.add<s, &M::dedup>("data.dedup", "Of equal samples only the first counts.");
  t.add<s, &M::shuffle>("data.shuffle", "A new order of the samples in every epoch.");
}

void add_data(Table& t) {
  using M = DataSettings;
  constexpr auto s = &Settings::data;
  t.add<s, &M::tokenizer>("data.tokenizer", "bytes, a folder that holds tokenizer.json, or such a file.")
      .spelled("byte", "bytes")
      .agree(Agreement::word_or_path);
  t.add<s, &M::cache>("data.cache", "Folder of prepared shards.")
      .familiar({"tokenized-path"})
      .unset("data in the run's folder")
      .agree(Agreement::none);
  t.add<s, &M::text_key>("data.text_key", "The member of a JSONL object that holds the text.");
  t.add<s, &M::prefetch>("data.prefetch", "Microbatches read ahead of the step.")
      .range(0, 65536)
      .agree(Agreement::none);
  t.add<s, &M::workers>("data.workers", "Threads that tokenize; 0: all cores.")
      .familiar({"num-workers", "preprocessing-num-workers"})
      .range(0, 65536)
      .agree(Agreement::none);
}

void add_batch(Table& t) {
  using M = BatchSettings;
  constexpr auto s = &Settings::batch;
  t.add<s, &M::seq_len>("batch.seq_len", "Length of a training sequence.")
      .unit("tokens")
      .flags({"seq-len"})
      .familiar({"max-seq-len", "max-length", "cutoff-len"})
      .range(1, million * 16);
  t.add<s, &M::micro_batch_size>("batch.micro_batch_size", "Sequences in one forward pass.")
      .unit("sequences")
      .flags({"micro-batch-size"})
      .familiar({"device-batch-size", "per-device-train-batch-size", "per-gpu-train-batch-size"})
      .unset("derived")
      .range(1, million);
  t.add<s, &M::global_batch_size>("batch.global_batch_size", "Sequences per optimizer step, over all ranks.")
      .unit("sequences")
      .flags({"global-batch-size"})
      .unset("derived")
      .range(1, tera);
  t.add<s, &M::microbatches>("batch.microbatches",
                             "Microbatches per data-parallel rank and step, accumulation included.")
      .unset("derived")
      .range(1, million);
  t.add<s, &M::batch_size>("batch.batch_size", "Sequences per data-parallel rank and accumulation round.")
      .unit("sequences")
      .familiar({"batch-size"})
      .variables({"BATCH_SIZE"})
      .unset("derived; 16 when no batch setting is given")
      .range(1, million);
  t.add<s, &M::num_microbatches>("batch.num_microbatches",
                                 "Microbatches per data-parallel rank and accumulation round.")
      .familiar({"num-microbatches", "microbatch-num"})
      .variables({"MICROBATCH_NUM"})
      .unset("derived; 4 when no batch setting is given")
      .range(1, million);
  t.add<s, &M::accumulation>("batch.accumulation", "Accumulation rounds per optimizer step.")
      .familiar({"gradient-accumulation-steps"})
      .range(1, million);
  t.add<s, &M::total_batch_size>("batch.total_batch_size", "Tokens per optimizer step, over all ranks.")
      .unit("tokens")
      .familiar({"total-batch-size"})
      .unset("derived")
      .range(1, tera);
  t.add<s, &M::find_micro_batch_size>(
       "batch.find_micro_batch_size",
       "Take the largest micro_batch_size whose predicted memory fits, instead of the one stated.")
      .flags({"find-micro-batch-size"})
      .familiar({"auto-find-batch-size"});
}

void add_axes(Table& t) {
  using M = ParallelSettings;
  constexpr auto s = &Settings::parallel;
  t.add<s, &M::dp>("parallel.dp", "Data-parallel ranks; 0: what remains of the world.").flags({"dp"}).range(0, million);
  t.add<s, &M::pp>("parallel.pp", "Ranks of a pipeline.")
      .flags({"pp"})
      .familiar({"pp-size"})
      .variables({"PP_SIZE"})
      .range(1, million);
  t.add<s, &M::tp>("parallel.tp", "Tensor-parallel ranks: each has a part of every layer's weights.")
      .flags({"tp"})
      .familiar({"tp-size"})
      .variables({"TP_SIZE"})
      .range(1, million);
  t.add<s, &M::cp>("parallel.cp", "Context-parallel ranks: each has a part of every sequence.")
      .flags({"cp"})
      .familiar({"cp-size"})
      .range(1, million);
  t.add<s, &M::sequence_parallel>(
       "parallel.sequence_parallel",
       "With tp above 1: outside the split layers, each tensor-parallel rank keeps a part of the rows.")
      .flags({"sequence-parallel"});
  t.add<s, &M::zero>("parallel.zero",
                     "Split over dp x cp: 0 nothing, 1 optimizer state, 2 also gradients, 3 also parameters.")
      .flags({"zero"})
      .familiar({"zero-stage"})
      .range(0, 3);
}

void add_pipeline(Table& t) {
  using M = ParallelSettings;
  constexpr auto s = &Settings::parallel;
  t.add<s, &M::virtual_stages>("parallel.virtual_stages",
                               "Stages of each pipeline rank; above 1: schedule interleaved.")
      .flags({"virtual-stages"})
      .familiar({"virtual-pipeline-size", "num-virtual-stages"})
      .range(1, 10000);
  t.add<s, &M::schedule>("parallel.schedule", "Order of forward and backward passes in a pipeline.")
      .flags({"schedule"})
      .familiar({"pipeline-schedule"})
      .words({"gpipe", "1f1b", "interleaved", "zb-h1"});
  t.add<s, &M::schedule_file>("parallel.schedule_file",
                              "A file with the step program (docs/formats/program.md), run instead of schedule.")
      .flags({"schedule-file"})
      .unset("none; schedule builds it")
      .agree(Agreement::none);
  t.add<s, &M::stage_layers>("parallel.stage_layers", "Transformer layers of each stage in pipeline order, as 2,1,1.")
      .flags({"stage-layers"})
      .unset("split by cost")
      .range(1, 10000);
  t.add<s, &M::stage_costs>("parallel.stage_costs",
                            "Relative seconds of embedding, each transformer layer and head; stages are cut by them.")
      .flags({"stage-costs"})
      .unset("by stage_balance")
      .range(0, 1e9);
  t.add<s, &M::stage_balance>(
       "parallel.stage_balance",
       "Stages are cut by; model: multiply-adds of each segment, measured: seconds measured at the start.")
      .flags({"stage-balance"})
      .words({"model", "measured"});
}

void add_memory(Table& t) {
  using M = ParallelSettings;
  constexpr auto s = &Settings::parallel;
  t.add<s, &M::recompute>(
       "parallel.recompute",
       "Computed again in backward instead of kept; full: whole layers, selective: what costs little.")
      .flags({"recompute"})
      .familiar({"activation-recomputation", "recompute-granularity"})
      .words({"none", "full", "selective"});
  t.add<s, &M::offload>(
       "parallel.offload",
       "Where optimizer state lies between steps; none: on the device, host: in the host's memory, file: in files.")
      .flags({"offload"})
      .familiar({"offload-optimizer"})
      .words({"none", "host", "file"})
      .spelled("cpu", "host")
      .spelled("disk", "file")
      .spelled("nvme", "file");
  t.add<s, &M::offload_folder>("parallel.offload_folder", "Folder of the files of offload file.")
      .unset("offload in the run's folder")
      .agree(Agreement::none);
  t.add<s, &M::overlap>("parallel.overlap", "Transfers of parameters and gradients run beside the computation.")
      .flags({"overlap"});
  t.add<s, &M::reproducible>(
       "parallel.reproducible",
       "run: equal bits in every layout where that can be had; bits: refuse what cannot; off: no care.")
      .flags({"reproducible"})
      .words({"run", "bits", "off"});
}

void add_optimizer(Table& t) {
  using M = OptimizerSettings;
  constexpr auto s = &Settings::optimizer;
  t.add<s, &M::lr>("optimizer.lr", "Highest learning rate.").flags({"lr"}).familiar({"learning-rate"}).range(0, 1000);
  t.add<s, &M::min_lr>("optimizer.min_lr", "Learning rate at the end of the decay.").range(0, 1000);
  t.add<s, &M::beta1>("optimizer.beta1", "AdamW's decay of the mean gradient; below 1.")
      .familiar({"adam-beta1"})
      .range(0, std::nextafter(1.0, 0.0));
  t.add<s, &M::beta2>("optimizer.beta2", "AdamW's decay of the mean squared gradient; below 1.")
      .familiar({"adam-beta2"})
      .range(0, std::nextafter(1.0, 0.0));
  t.add<s, &M::eps>("optimizer.eps", "Added to the root in AdamW's update.").familiar({"adam-epsilon"}).range(0, 1);
  t.add<s, &M::weight_decay>("optimizer.weight_decay", "Decoupled weight decay.")
      .familiar({"weight-decay"})
      .range(0, 1000);
  t.add<s, &M::clip_norm>("optimizer.clip_norm", "Largest global gradient norm; 0: no clipping.")
      .familiar({"max-grad-norm"})
      .range(0, 1e30);
  t.add<s, &M::lr_schedule>("optimizer.lr_schedule", "Course of the learning rate after the warm-up.")
      .familiar({"lr-scheduler-type"})
      .words({"cosine", "linear", "constant"})
      .spelled("constant_with_warmup", "constant");
  t.add<s, &M::warmup_steps>("optimizer.warmup_steps", "Steps over which the learning rate rises from 0.")
      .unit("steps")
      .familiar({"warmup-steps"})
      .range(0, tera);
  t.add<s, &M::warmup_ratio>("optimizer.warmup_ratio", "Warm-up as a share of all steps, used when warmup_steps is 0.")
      .familiar({"warmup-ratio"})
      .range(0, 1);
}

void add_precision(Table& t) {
  using M = PrecisionSettings;
  constexpr auto s = &Settings::precision;
  t.add<s, &M::compute>("precision.compute",
                        "Type of activations and of the weights they meet; the optimizer has fp32.")
      .flags({"precision"})
      .words({"fp32", "bf16", "fp16"})
      .spelled("float32", "fp32")
      .spelled("bfloat16", "bf16")
      .spelled("float16", "fp16");
  t.add<s, &M::loss_scale>("precision.loss_scale", "fp16: loss scale of the first step.").range(tiny, 1e30);
  t.add<s, &M::loss_scale_window>("precision.loss_scale_window", "fp16: steps without overflow before the scale grows.")
      .unit("steps")
      .range(1, tera);
  t.add<s, &M::loss_scale_growth>("precision.loss_scale_growth", "fp16: factor by which the scale grows.")
      .range(1, million);
  t.add<s, &M::loss_scale_backoff>("precision.loss_scale_backoff",
                                   "fp16: factor of the scale after an overflow; below 1.")
      .range(tiny, std::nextafter(1.0, 0.0));
  t.add<s, &M::loss_scale_min>("precision.loss_scale_min", "fp16: the scale never falls below.").range(tiny, 1e30);
}

void add_train(Table& t) {
  using M = TrainSettings;
  constexpr auto s = &Settings::train;
  t.add<s, &M::preset>("train.preset",
                       "A named set of model size and batch for two devices; every other setting overrides it.")
      .flags({"preset"})
      .words({"none", "conservative", "balanced", "aggressive"});
  t.add<s, &M::freeze>("train.freeze",
                       "Parts that are not trained, parted by commas: embedding, head, layers as 0-3 or 7. Where "
                       "embedding and head share a table, both or neither.")
      .flags({"freeze"})
      .unset("none");
  t.add<s, &M::trainable_layers>("train.trainable_layers",
                                 "Train only the last N layers, or the first N if negative, and nothing else; 0: all.")
      .flags({"trainable-layers"})
      .familiar({"freeze-trainable-layers"})
      .range(-10000, 10000);
  t.add<s, &M::steps>("train.steps", "Optimizer steps; 0: epochs decide.")
      .unit("steps")
      .flags({"steps"})
      .familiar({"train-steps", "max-steps", "num-iterations"})
      .range(0, tera);
  t.add<s, &M::epochs>("train.epochs", "Passes over the data, used when steps is 0; may be a fraction.")
      .flags({"epochs"})
      .familiar({"num-epochs", "num-train-epochs"})
      .range(tiny, 1e9);
  t.add<s, &M::seed>("train.seed", "Seed of weights and data order.").flags({"seed"}).range(0, any_seed);
  t.add<s, &M::device>("train.device", "auto, cpu, cuda, or one device such as cuda:1.")
      .flags({"device"})
      .agree(Agreement::kind);
  t.add<s, &M::out>("train.out", "The run's folder.")
      .flags({"out"})
      .familiar({"save-dir", "output-dir"})
      .agree(Agreement::none);
  t.add<s, &M::resume>("train.resume",
                       "auto: the newest complete checkpoint of the run; never: anew, but a restart by the launcher "
                       "goes on from what this launch saved; or a path.")
      .flags({"resume"})
      .familiar({"resume-from-checkpoint"})
      .words({"auto", "never"})
      .spelled("true", "auto")
      .spelled("false", "never")
      .agree(Agreement::word_or_path);
  t.add<s, &M::threads>("train.threads", "Threads per rank; 0: the host's cores divided by the ranks on it.")
      .variables({"OMP_NUM_THREADS"})
      .range(0, 65536)
      .agree(Agreement::none);
  t.add<s, &M::profile>("train.profile", "Steps recorded in the timeline: all, 3, or 2,5-7.")
      .flags({"profile"})
      .familiar({"profile-batch"})
      .unset("none");
  t.add<s, &M::eval_every>("train.eval_every", "Steps between evaluations on data.valid; 0: only at the end.")
      .unit("steps")
      .familiar({"eval-every", "eval-steps", "eval-interval"})
      .range(0, tera);
  using C = CheckpointSettings;
  constexpr auto c = &Settings::checkpoint;
  t.add<c, &C::every>("checkpoint.every", "Steps between checkpoints; 0: only at the end.")
      .unit("steps")
      .familiar({"save-steps"})
      .range(0, tera);
  t.add<c, &C::keep>("checkpoint.keep", "Newest complete checkpoints kept.")
      .familiar({"save-total-limit"})
      .range(1, million);
  t.add<c, &C::keep_best>("checkpoint.keep_best", "Also save and keep the one with the lowest loss on data.valid.");
}

void add_comm(Table& t) {
  using M = CommSettings;
  constexpr auto s = &Settings::comm;
  t.add<s, &M::backend>("comm.backend", "Carrier of messages between ranks.")
      .familiar({"backend"})
      .words({"auto", "gloo"});
  t.add<s, &M::interface>("comm.interface", "Network interface to use.")
      .variables({"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"})
      .unset("the one that reaches the master")
      .agree(Agreement::none);
  t.add<s, &M::timeout_seconds>("comm.timeout_seconds", "A transfer that takes longer is an error.")
      .unit("seconds")
      .variables({"NCCL_TIMEOUT"})
      .range(0.001, 1e7)
      .agree(Agreement::none);
  t.add<s, &M::join_seconds>("comm.join_seconds", "How long to wait for all ranks at the start.")
      .unit("seconds")
      .range(0.001, 1e7)
      .agree(Agreement::none);
  t.add<s, &M::heartbeat_seconds>("comm.heartbeat_seconds", "A rank silent for longer is taken for dead.")
      .unit("seconds")
      .range(0.001, 1e7)
      .agree(Agreement::none);
  using L = LogSettings;
  constexpr auto l = &Settings::log;
  t.add<l, &L::level>("log.level", "Least important messages shown.")
      .words({"debug", "info", "warn", "error"})
      .spelled("warning", "warn")
      .agree(Agreement::none);
  t.add<l, &L::progress>("log.progress", "auto: a bar on a terminal, lines elsewhere; bar; lines; none.")
      .words({"auto", "bar", "lines", "none"})
      .agree(Agreement::none);
}

std::vector<Field> build() {
  Table table;
  table.reserve(144);
  add_model(table);
  add_lora(table);
  add_sources(table);
  add_conversations(table);
  add_data(table);
  add_batch(table);
  add_axes(table);
  add_pipeline(table);
  add_memory(table);
  add_optimizer(table);
  add_precision(table);
  add_train(table);
  add_comm(table);
  return table.take();
}

}  // namespace

const std::vector<Field>& fields() {
  static const std::vector<Field> table = build();
  return table;
}

}  // namespace troika::config
