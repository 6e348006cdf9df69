// What is wrong with settings, in both languages.
#pragma once

#include "base/language.h"

namespace troika::config {

struct ConfigTexts {
  // Of one value, as the end of a sentence.
  base::Bilingual at_least = {"must be at least {}, not {}", "至少为 {}，而不能是 {}"};
  base::Bilingual at_most = {"must be at most {}, not {}", "最大为 {}，而不能是 {}"};
  base::Bilingual above_0 = {"must be above 0, not {}", "必须大于 0，而不能是 {}"};
  base::Bilingual entry = {"has an entry that {}", "中有一项{}"};
  base::Bilingual takes = {"takes {}, not '{}'", "应为{}，而不是“{}”"};
  base::Bilingual one_of = {"takes {}, not '{}'{}", "可取 {}，而不是“{}”{}"};
  base::Bilingual did_you_mean = {"; did you mean {}?", "；您是想写 {} 吗？"};
  base::Bilingual truth = {"true or false", " true 或 false "};
  base::Bilingual size = {"a size such as 500MB or 64MiB", "大小，如 500MB 或 64MiB"};
  base::Bilingual whole = {"a whole number", "整数"};
  base::Bilingual natural = {"a whole number from 0 to 2^64 - 1", " 0 到 2^64 - 1 的整数"};
  base::Bilingual time = {"a time such as 30, 500ms or 2m", "时间，如 30、500ms 或 2m"};
  base::Bilingual number = {"a number", "数字"};
  base::Bilingual text = {"text in UTF-8", " UTF-8 文本"};
  base::Bilingual numbers = {"numbers such as 0.5,1,2", "一组数字，如 0.5,1,2"};
  base::Bilingual wholes = {"whole numbers such as 2,1,1", "一组整数，如 2,1,1"};

  // Of the model and the run.
  base::Bilingual min_lr = {"optimizer.min_lr {} is above optimizer.lr {}: it is where the decay ends, so at most {}",
                            "optimizer.min_lr {} 大于 optimizer.lr {}：它是衰减的终点，最大为 {}"};
  base::Bilingual bf16_on_gpu = {"computing in bf16, because the device is a GPU and no precision is stated; --fp32 asks for "
                                 "fp32",
                                 "设备是 GPU 且没有指定精度，因此用 bf16 计算；如需 fp32，请使用 --fp32"};
  base::Bilingual sums_on_gpu = {"the same layout gives the same bits, because the device is a GPU and reproducible is not stated; "
                                 "--reproducible run gives them in every layout",
                                 "设备是 GPU 且没有指定 reproducible，因此相同布局得到逐位相同的结果；如需任何布局都逐位相同，"
                                 "请使用 --reproducible run"};
  base::Bilingual loss_scale = {"precision.loss_scale {} is below precision.loss_scale_min {}: at least {}",
                                "precision.loss_scale {} 小于 precision.loss_scale_min {}：至少为 {}"};
  base::Bilingual heads = {"model.heads {} is not a multiple of model.kv_heads {}: {}",
                           "model.heads {} 不是 model.kv_heads {} 的倍数：{}"};
  base::Bilingual odd_head = {"model.head_dim {} is odd, but RoPE rotates pairs: {}",
                              "model.head_dim {} 是奇数，而 RoPE 成对旋转：{}"};
  base::Bilingual rope_factors = {
      "model.rope_low_freq_factor {} is not below model.rope_high_freq_factor {}: frequencies are interpolated between "
      "them",
      "model.rope_low_freq_factor {} 不小于 model.rope_high_freq_factor {}：频率在二者之间插值"};
  base::Bilingual gpt2_kv = {
      "model.kv_heads {} is not model.heads {}: gpt2 has a key and a value head for every query head, so set kv_heads "
      "to "
      "{}, or take a preset such as gpt2-124m",
      "model.kv_heads {} 与 model.heads {} 不同：gpt2 的每个查询头各有一个键头和值头，请将 kv_heads 设为 {}，或选用 "
      "gpt2-124m 之类的预设"};
  base::Bilingual gpt2_hidden = {
      "model.heads {} x model.head_dim {} is {}, but model.hidden is {}: the heads of gpt2 divide its hidden size, so "
      "set "
      "hidden to {}",
      "model.heads {} x model.head_dim {} 等于 {}，但 model.hidden 是 {}：gpt2 的各个头平分隐藏维度，请将 hidden 设为 "
      "{}"};
  base::Bilingual gpt2_rope = {
      "model.rope_scaling {} needs RoPE, and gpt2 learns an embedding for each position: set it to none",
      "model.rope_scaling {} 需要 RoPE，而 gpt2 为每个位置学习一个嵌入：请设为 none"};
  base::Bilingual weights = {"data.weights has {} numbers, but data.train names {} sources: one for each",
                             "data.weights 有 {} 个数，但 data.train 有 {} 个数据源：每个数据源一个"};
  base::Bilingual no_weight = {"data.weights are all 0, so nothing is left to train on: give one above 0",
                               "data.weights 全为 0，没有可训练的数据：请至少给出一个大于 0 的数"};
  base::Bilingual out_is_data = {
      "train.out is '{0}', which is the folder of {1} too, and a run writes its own files there: name another --out, "
      "such as '{0}/run'",
      "train.out 为“{0}”，它同时是 {1} 的目录，而运行会在其中写入自己的文件：请用 --out 指定其他目录，例如“{0}/run”"};
  base::Bilingual two_valid = {
      "data.valid '{}' and data.valid_share {} both say what to evaluate on: leave one of them out",
      "data.valid “{}”和 data.valid_share {} 都指定了验证数据：请去掉其中一个"};
  base::Bilingual valid_share = {
      "data.valid_share {} is a number of samples, as it is above 1, but not whole: {} and {} are the nearest that are",
      "data.valid_share {} 大于 1，表示样本数，但不是整数：最接近的整数是 {} 和 {}"};
  base::Bilingual middle_layers = {"model.middle_layers {} is more than the model's {}: at most {} can be kept",
                                   "model.middle_layers {} 超过了模型的 {} 层：最多保留 {} 层"};
  base::Bilingual seq_len = {"batch.seq_len {} is more than model.max_positions {}: at most {}, or raise max_positions",
                             "batch.seq_len {} 超过了 model.max_positions {}：最大为 {}，或增大 max_positions"};
  base::Bilingual warmup = {"optimizer.warmup_steps {} is more than train.steps {}: at most {}",
                            "optimizer.warmup_steps {} 超过了 train.steps {}：最大为 {}"};
  base::Bilingual wsd = {
      "optimizer.warmup_steps {} and optimizer.decay_steps {} are more than train.steps {}: make one of them smaller",
      "optimizer.warmup_steps {} 与 optimizer.decay_steps {} 之和超过了 train.steps {}：请减小其中一个"};
  base::Bilingual wsd_ratios = {
      "optimizer.warmup_ratio {} and optimizer.decay_ratio {} are more than 1 together: make one of them smaller",
      "optimizer.warmup_ratio {} 与 optimizer.decay_ratio {} 之和超过了 1：请减小其中一个"};
  base::Bilingual stopping_without_data = {
      "train.early_stopping_patience {} needs a validation set: name one with data.valid, or keep one with "
      "data.valid_share",
      "train.early_stopping_patience {} 需要验证集：请用 data.valid 指定，或用 data.valid_share 留出一部分"};
  base::Bilingual stopping_without_evaluations = {
      "train.early_stopping_patience {} counts evaluations, but there is only one, at the end: set train.eval_every to "
      "the steps between them",
      "train.early_stopping_patience {} 按评估次数计算，但只在结束时评估一次：请用 train.eval_every 设定评估间隔的步数"};
  base::Bilingual device = {"train.device takes auto, cpu, cuda or cuda:N, not '{}'",
                            "train.device 可取 auto、cpu、cuda 或 cuda:N，而不是“{}”"};
  base::Bilingual profile = {"train.profile takes all, a step such as 3, or steps and ranges such as 2,5-7, not '{}'",
                             "train.profile 可取 all、某一步（如 3）或多个步和区间（如 2,5-7），而不是“{}”"};
  base::Bilingual no_out = {"train.out is empty: name the run's folder", "train.out 为空：请给出运行的目录"};
  base::Bilingual auto_layout = {"parallel.layout is auto, but only train chooses a layout: state one (--dp, --pp)",
                                 "parallel.layout 为 auto，但只有 train 会选择布局：请指定一个（--dp、--pp）"};

  // Of the layout.
  base::Bilingual indivisible = {"parallel: {} does not divide the world of {} process{}: start {} processes{}{}",
                                 "parallel：{} 不能整除 {} 个进程{}：请启动 {} 个进程{}{}"};
  base::Bilingual either = {"{} or {}", "{} 或 {}"};
  base::Bilingual or_pp = {", or set pp to {}", "，或将 pp 设为 {}"};
  base::Bilingual other_world = {"parallel: {}{}, but the world has {} process{}: start {}{}, or set dp to {}",
                                 "parallel：{}{}，但共有 {} 个进程{}：请启动 {} 个{}，或将 dp 设为 {}"};
  base::Bilingual head = {"a query head", "一个查询头"};
  base::Bilingual column = {"a column of the feed-forward layer", "前馈层的一列"};
  base::Bilingual vocabulary = {"a row of the vocabulary", "词表的一行"};
  base::Bilingual tp = {"parallel.tp {} is more than {} {}: each tensor-parallel rank needs {}, so tp is at most {}",
                        "parallel.tp {} 大于 {} {}：每个张量并行 rank 至少需要{}，因此 tp 最大为 {}"};
  base::Bilingual cp = {
      "batch.seq_len {} is too short for parallel.cp {}: each context-parallel rank takes 2 pieces of a sequence, so "
      "seq_len is at least {}, or cp at most {}",
      "batch.seq_len {} 对 parallel.cp {} 来说太短：每个上下文并行 rank 取序列的 2 段，因此 seq_len 至少为 {}，或 cp "
      "最大为 "
      "{}"};
  base::Bilingual shares = {
      "parallel.shares has {} entr{} for dp {}: give one number of microbatches per data-parallel rank",
      "parallel.shares 有 {} 项{}，而 dp 为 {}：请为每个数据并行 rank 给出一个微批数"};
  base::Bilingual shares_zero = {
      "parallel.shares needs zero 0 or 1, not {}: in ZeRO 2 and 3 all replicas meet at every microbatch",
      "使用 parallel.shares 时 zero 应为 0 或 1，而不是 {}：ZeRO 2 和 3 中所有副本在每个微批都要通信"};
  base::Bilingual bits = {
      "parallel.reproducible=bits refuses {}: sums that are split over these ranks end in other bits; set tp and cp to "
      "1, "
      "or reproducible to run",
      "parallel.reproducible=bits 不允许 {}：求和拆分到这些 rank 后逐位结果会不同；请将 tp 和 cp 设为 1，或将 "
      "reproducible "
      "设为 run"};

  // Of the pipeline.
  base::Bilingual no_pipeline = {"parallel.{} needs a pipeline, but pp is 1: set pp to 2 or more, or take {}",
                                 "parallel.{} 需要流水线，但 pp 为 1：请将 pp 设为 2 以上，或改用 {}"};
  base::Bilingual plain_1f1b = {"schedule 1f1b with virtual_stages 1", "schedule 1f1b 和 virtual_stages 1"};
  base::Bilingual one_stage = {
      "parallel.schedule {} has one stage per rank, but virtual_stages is {}: set schedule to interleaved, or "
      "virtual_stages to 1",
      "parallel.schedule {} 每个 rank 只有一个阶段，但 virtual_stages 为 {}：请将 schedule 设为 interleaved，或将 "
      "virtual_stages 设为 1"};
  base::Bilingual many_stages = {
      "parallel.{} is more than the model's {} transformer layers: each stage needs one, so {}",
      "parallel.{} 超过了模型的 {} 个 transformer 层：每个阶段至少需要一层，因此{}"};
  base::Bilingual pp_at_most = {"pp is at most {}", " pp 最大为 {}"};
  base::Bilingual pp_at_most_without = {"pp is at most {}, with virtual_stages 1",
                                        "在 virtual_stages 为 1 时 pp 最大为 {}"};
  base::Bilingual virtual_at_most = {"virtual_stages is at most {}", " virtual_stages 最大为 {}"};
  base::Bilingual set_1f1b = {"set schedule to 1f1b and virtual_stages to 1",
                              "请将 schedule 设为 1f1b，将 virtual_stages 设为 1"};
  base::Bilingual stage_entries = {
      "parallel.stage_layers has {}, but there {} ({}): give one entry per stage, or leave it out",
      "parallel.stage_layers 有 {} 项，但共有 {} 个阶段（{}）：请为每个阶段给出一项，或不设置"};
  base::Bilingual stage_sum = {"parallel.stage_layers {} sums to {}, but the model has {}: give entries that sum to {}",
                               "parallel.stage_layers {} 之和为 {}，但模型有 {} 层：各项之和应为 {}"};
  base::Bilingual stage_costs = {
      "parallel.stage_costs has {} numbers, but embedding, {} transformer layers and head are {} segments: give {} "
      "numbers, or leave it out",
      "parallel.stage_costs 有 {} 个数，但嵌入层、{} 个 transformer 层和输出头共 {} 段：请给出 {} 个数，或不设置"};
  base::Bilingual no_costs = {"parallel.stage_costs are all 0: give the relative seconds of each segment, such as 1",
                              "parallel.stage_costs 全为 0：请给出各段的相对耗时，如 1"};
  base::Bilingual two_cuts = {"parallel: {} each decide where stages are cut: keep one of them",
                              "parallel：{} 都决定阶段的切分位置：请只保留一个"};
  base::Bilingual both = {" and ", " 和 "};

  // Of the batch.
  base::Bilingual nearest_multiple = {"{} is the nearest that is", "最接近的是 {}"};
  base::Bilingual nearest_multiples = {"{} and {} are the nearest that are", "最接近的是 {} 和 {}"};
  base::Bilingual no_multiple = {"batch.{} {}{} is not a multiple of {}: {}", "batch.{} {}{} 不是 {} 的倍数：{}"};
  base::Bilingual tokens = {" tokens", " 个 token"};
  base::Bilingual not_equal = {"batch.{} {}{} is not {}: leave one of them out, and it is derived",
                               "batch.{} {}{} 与 {} 不符：请去掉其中一个，由其余的推出"};
  base::Bilingual too_many_tokens = {
      "batch: micro_batch_size {} x microbatches {} x dp {} x seq_len {} is more than 2^50 positions per step: give a "
      "smaller one",
      "batch：micro_batch_size {} x microbatches {} x dp {} x seq_len {} 超过每步 2^50 个位置：请减小"};
  base::Bilingual beside_shares = {
      "{} and parallel.shares both say how many sequences a rank has: leave out one of them; micro_batch_size and "
      "global_batch_size go with shares",
      "{} 和 parallel.shares 都指定了每个 rank 的序列数：请去掉其中一个；micro_batch_size 和 global_batch_size 可与 "
      "shares 同时使用"};
  base::Bilingual no_multiple_of_shares = {"batch.{} {} is not a multiple of {}", "batch.{} {} 不是 {} 的倍数"};
  base::Bilingual not_equal_to_shares = {"batch.{} {} is not {}", "batch.{} {} 不等于 {}"};
  base::Bilingual shares_too_many = {"batch: parallel.shares make more than 2^50 positions per step: give smaller ones",
                                     "batch：parallel.shares 使每步超过 2^50 个 token：请减小"};
  base::Bilingual two_microbatches = {"batch.microbatches {} is not {}: leave one of them out",
                                      "batch.microbatches {} 与 {} 不符：请去掉其中一个"};
  base::Bilingual accumulation = {"batch.microbatches {} is not a multiple of accumulation {}: {}",
                                  "batch.microbatches {} 不是 accumulation {} 的倍数：{}"};

  // Of frozen parts and adapters.
  base::Bilingual freeze_part = {"train.freeze takes embedding, head, and layers such as 7 or 0-3, not '{}'",
                                 "train.freeze 可取 embedding、head 以及 7 或 0-3 这样的层，而不是“{}”"};
  base::Bilingual freeze_range = {"train.freeze '{}' is not in the model's layers 0-{}{}",
                                  "train.freeze “{}”不在模型的 0-{} 层之内{}"};
  base::Bilingual is_below = {": {} is below {}", "：{} 小于 {}"};
  base::Bilingual trainable_layers = {"train.trainable_layers is {}, but the model has {}: from {} to {}",
                                      "train.trainable_layers 为 {}，但模型有 {} 层：应在 {} 到 {} 之间"};
  base::Bilingual half_a_table = {
      "train.freeze '{}' names the {} alone, but the head of this model multiplies by the embedding's table "
      "(model.tie_embeddings): freeze both, as embedding,head, or neither",
      "train.freeze “{}”只冻结了 "
      "{}，但该模型的输出头与嵌入层共用一张表（model.tie_embeddings）：请一起冻结（embedding,head）"
      "，或都不冻结"};
  base::Bilingual freeze_and_lora = {"{} and lora.rank {} exclude each other: adapters freeze all other weights",
                                     "{} 与 lora.rank {} 不能同时使用：适配器会冻结其他所有权重"};
  base::Bilingual freeze_twice = {
      "train.freeze '{}' and train.trainable_layers {} exclude each other: state what is frozen, or what is not",
      "train.freeze “{}”与 train.trainable_layers {} 不能同时使用：请只指定冻结的部分或训练的部分"};
  base::Bilingual nothing_left = {"train.freeze '{}' leaves nothing to train: leave out a part",
                                  "train.freeze “{}”使得没有可训练的部分：请去掉一项"};
  base::Bilingual lora_target = {"lora.targets names '{}', which is not a projection of a layer: all, or some of {}{}",
                                 "lora.targets 中的“{}”不是层中的投影：应为 all，或 {} 中的几个{}"};
  base::Bilingual nearest = {"; nearest: {}", "；最接近的是 {}"};
  base::Bilingual lora_path = {
      "lora.path is '{}', but model.path is not set: name the weights that the adapter belongs to with --model.path PATH",
      "lora.path 为“{}”，但未设置 model.path：请用 --model.path PATH 指定该适配器所属的权重"};
  base::Bilingual pattern_entry = {"'{}' is not NAME:NUMBER, such as q_proj:16 or layers.3.v_proj:4",
                                   "“{}”不是 NAME:NUMBER 的形式，例如 q_proj:16 或 layers.3.v_proj:4"};
  base::Bilingual pattern_rank = {"{}: the rank of {} must be a whole number from 1 to {:.0f}",
                                  "{}：{} 的秩必须是 1 到 {:.0f} 的整数"};
  base::Bilingual pattern_alpha = {"{}: the alpha of {} must be above 0 and at most {:.0f}",
                                   "{}：{} 的 alpha 必须大于 0 且不超过 {:.0f}"};
  base::Bilingual pattern_of_none = {
      "{}: '{}' names none of the adapters: give one of lora.targets, such as q_proj, or one of a layer, such as "
      "layers.0.q_proj",
      "{}：“{}”不是任何适配器的名称：请给出 lora.targets 之一，例如 q_proj，或某一层的投影，例如 layers.0.q_proj"};
  base::Bilingual pattern_without_rank = {
      "{} is '{}', but lora.rank is 0: adapters are trained with --lora.rank R; set it, or leave the pattern out",
      "{} 为“{}”，但 lora.rank 为 0：用 --lora.rank R 训练适配器；请设置它，或去掉该模式"};
  base::Bilingual lora_base = {
      "lora.rank is {}, but model.path is not set: adapters need base weights, so name a model folder or a run with "
      "--model.path PATH",
      "lora.rank 为 {}，但未设置 model.path：适配器需要基础权重，请用 --model.path PATH 指定模型目录或运行"};
  base::Bilingual lora_gpt2 = {
      "lora.rank is {}, but adapters are not supported for model.architecture gpt2: freeze parts with --train.freeze, "
      "or "
      "take qwen3, qwen2, llama or mistral",
      "lora.rank 为 {}，但 model.architecture gpt2 不支持适配器：请用 --train.freeze 冻结部分参数，或选用 "
      "qwen3、qwen2、llama、mistral"};

  // Of a command line.
  base::Bilingual second_model = {"'{}' is a second model beside '{}': keep one of them",
                                  "“{}”是“{}”之外的第二个模型：请只保留一个"};
  base::Bilingual flag_twice = {"{0} is given twice: {1} {2}, then {3} {4}; the last one counts",
                                "{0} 给出了两次：先是 {1} {2}，后是 {3} {4}；以后者为准"};
  base::Bilingual no_file = {"cannot open '{}': there is no file of settings and no model's folder with this name",
                             "无法打开“{}”：没有这个名称的设置文件，也没有这个名称的模型目录"};
  base::Bilingual data_as_settings = {
      "'{0}' holds data, not settings: name it with --data.train {0}, or to evaluate on it with --data.valid {0}",
      "“{0}”是数据而不是设置：请用 --data.train {0} 指定；若用于评估，请用 --data.valid {0}"};
  base::Bilingual deepspeed_as_settings = {"'{0}' holds settings of DeepSpeed: name it with --deepspeed {0}",
                                           "“{0}”是 DeepSpeed 的设置：请用 --deepspeed {0} 指定"};

  // Where something stands.
  base::Bilingual line = {"{} line {}", "{} 第 {} 行"};
  base::Bilingual in_environment = {"{} in the environment", "环境变量 {}"};

  // Notes.
  base::Bilingual ignored = {"{} is ignored: {}", "忽略 {}：{}"};
  base::Bilingual variables_ignored = {"{} in the environment {} ignored: {}", "忽略环境变量 {}{}：{}"};
  base::Bilingual interfaces = {"{} is ignored: it names interfaces to avoid, and --comm.interface takes one to use",
                                "忽略{}：它列出要避开的网络接口，而 --comm.interface 指定要使用的接口"};
  base::Bilingual preset_below = {"preset {} lies below single model settings, so these are kept: {}",
                                  "预设 {} 的优先级低于单独给出的模型设置，因此保留：{}"};
  base::Bilingual preset_replaced = {"model.preset {} ({}) is replaced by model.path {} ({})",
                                     "model.preset {}（{}）被 model.path {}（{}）取代"};
  base::Bilingual preset_by_name = {"'{}' selects --preset {} by its name; the file is not read",
                                    "“{}”按名称选用 --preset {}；不会读取该文件"};

  // Of the model that is named.
  base::Bilingual no_preset = {"model.preset '{}' is unknown: the presets are {}",
                               "没有名为“{}”的 model.preset：可用的预设有 {}"};
  base::Bilingual near_preset = {"model.preset '{}' is unknown: did you mean {}?",
                                 "没有名为“{}”的 model.preset：您是想写 {} 吗？"};
  base::Bilingual contradicts = {"{0} {1} ({2}) contradicts {3} in {4}; leave it out",
                                 "{0} {1}（{2}）与 {4} 中的 {3} 矛盾；请去掉"};
  base::Bilingual from_adapter = {
      "taken from lora.path '{}' where not stated: rank {}, alpha {:g}{}, targets {}, dropout {:g}",
      "未给出的设置取自 lora.path “{}”：秩 {}，alpha {:g}{}，目标 {}，dropout {:g}"};
  base::Bilingual preset_and_path = {"model.preset {} ({}) and model.path {} ({}) both say what the model is; take one",
                                     "model.preset {}（{}）和 model.path {}（{}）都指定了模型；请只用一个"};
  base::Bilingual base_alone = {
      "model.base {} ({}) is the base of an adapter; name the adapter with model.path, or leave model.base out",
      "model.base {}（{}）是适配器的基础模型；请用 model.path 指定适配器，或去掉 model.base"};
  base::Bilingual python_file = {
      "'{}' is a Python file, which is not run here: give a YAML file, --preset conservative, balanced or aggressive, "
      "or "
      "--model.preset with one of {}",
      "“{}”是 Python 文件，这里不会运行它：请给出 YAML 文件，或 --preset conservative、balanced、aggressive，或用 "
      "--model.preset 指定 {} 之一"};
};
inline constexpr ConfigTexts texts{};

}  // namespace troika::config
