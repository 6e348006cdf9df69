#include "config/import/llama_factory_keys.h"

#include "config/fields.h"

namespace troika::config {
namespace {

using Meaning = LlamaFactoryKey::Meaning;
using Rows = std::vector<LlamaFactoryKey>;

Rows model_rows() {
  return {
      {"model_name_or_path", Meaning::spelling, ""},
      {"adapter_name_or_path", Meaning::combined, "with lora: lora.path, one folder, whose rank, alpha and targets hold; else refused"},
      {"trust_remote_code", Meaning::idle, "nothing that is read is executed"},
      {"use_fast_tokenizer", Meaning::idle, "tokenizer.json is read"},
      {"split_special_tokens", Meaning::refused,
       "data.control_tokens text spells out those in messages, and keeps those of the template whole",
       "data.control_tokens text 会把消息中的特殊 token 当作文本，而模板中的保持完整"},
      {"resize_vocab", Meaning::refused, "new tokens have no weights; add them to the model's folder first",
       "新 token 没有权重；请先把它们加入模型目录"},
      {"add_tokens", Meaning::refused, "new tokens have no weights; add them to the model's folder first",
       "新 token 没有权重；请先把它们加入模型目录"},
      {"add_special_tokens", Meaning::refused, "new tokens have no weights; add them to the model's folder first",
       "新 token 没有权重；请先把它们加入模型目录"},
      {"new_special_tokens_config", Meaning::refused,
       "new tokens have no weights; add them to the model's folder first", "新 token 没有权重；请先把它们加入模型目录"},
      {"init_special_tokens", Meaning::idle, "no tokens are added"},
      {"train_from_scratch", Meaning::refused, "weights are read from the folder; for new ones take model.preset",
       "权重从目录中读取；要从头训练请用 model.preset"},
      {"rope_scaling", Meaning::refused, "the model's config.json says how its positions are scaled; change it there",
       "位置的缩放由模型的 config.json 指定；请在其中修改"},
      {"quantization_bit", Meaning::refused, "weights are not quantised; fp32, bf16 and fp16 are computed",
       "权重不做量化；以 fp32、bf16 和 fp16 计算"},
      {"quantization_*", Meaning::idle, "weights are not quantised"},
      {"double_quantization", Meaning::idle, "weights are not quantised"},
      {"fp8", Meaning::refused, "fp32, bf16 and fp16 are computed", "以 fp32、bf16 和 fp16 计算"},
      {"fp8_*", Meaning::idle, "fp32, bf16 and fp16 are computed"},
      {"shift_attn", Meaning::refused, "attention is exact", "注意力是精确计算的"},
      {"mixture_of_depths", Meaning::refused, "every layer processes every token", "每一层都处理每个 token"},
      {"moe_aux_loss_coef", Meaning::idle, "models with experts are not supported"},
      {"flash_attn", Meaning::idle, "attention never stores the full score matrix, as FlashAttention"},
      {"attn", Meaning::idle, "attention never stores the full score matrix, as FlashAttention"},
      {"enable_liger_kernel", Meaning::idle, "operations are fused here already"},
      {"use_liger_kernel", Meaning::idle, "operations are fused here already"},
      {"liger_kernel_config", Meaning::idle, "operations are fused here already"},
      {"use_kt", Meaning::refused, "models with experts are not supported", "不支持混合专家模型"},
      {"kt_*", Meaning::idle, "models with experts are not supported"},
      {"use_unsloth*", Meaning::idle, "operations are fused here already"},
      {"use_v1_kernels", Meaning::idle, "operations are fused here already"},
      {"gradient_checkpointing", Meaning::combined, "parallel.recompute full or none; it is on where neither is given"},
      {"disable_gradient_checkpointing", Meaning::combined, "parallel.recompute none"},
      {"gradient_checkpointing_kwargs", Meaning::idle, "recomputed activations are bit-identical"},
      {"use_reentrant_gc", Meaning::idle, "recomputed activations are bit-identical"},
      {"upcast_*", Meaning::idle, "norms, logits and the optimizer compute in fp32"},
      {"low_cpu_mem_usage", Meaning::idle, "weights are read piecewise"},
      {"cache_dir", Meaning::idle, "nothing is downloaded"},
      {"model_revision", Meaning::idle, "nothing is downloaded"},
      {"hf_hub_token", Meaning::idle, "nothing is downloaded"},
      {"ms_hub_token", Meaning::idle, "nothing is downloaded"},
      {"om_hub_token", Meaning::idle, "nothing is downloaded"},
      {"adapter_folder", Meaning::idle, "adapter_name_or_path names the folder"},
      {"offload_folder", Meaning::idle, "it concerns inference"},
      {"use_kv_cache", Meaning::idle, "it concerns inference"},
      {"use_cache", Meaning::idle, "it concerns inference"},
      {"infer_*", Meaning::idle, "it concerns inference"},
      {"vllm_*", Meaning::idle, "it concerns inference"},
      {"sglang_*", Meaning::idle, "it concerns inference"},
      {"export_*", Meaning::idle, "troika export writes model folders"},
      {"print_param_status", Meaning::idle, "the plan says what is trained"},
  };
}

Rows method_rows() {
  return {
      {"stage", Meaning::combined, "sft; pt sets data.format text; rm, ppo, dpo and kto are refused"},
      {"do_train", Meaning::idle, "the verb says what is done: train, eval, generate"},
      {"do_eval", Meaning::idle, "the verb says what is done: train, eval, generate"},
      {"do_predict", Meaning::idle, "the verb says what is done: train, eval, generate"},
      {"predict_with_generate", Meaning::idle, "troika generate answers prompts"},
      {"finetuning_type", Meaning::combined,
       "full; lora sets lora.rank; freeze sets train.trainable_layers; lora if absent"},
      {"lora_rank", Meaning::lora, ""},
      {"lora_alpha", Meaning::lora, ""},
      {"lora_dropout", Meaning::lora, ""},
      {"lora_target", Meaning::lora, ""},
      {"additional_target", Meaning::refused, "only adapters are trained", "只训练适配器"},
      {"loraplus_lr_ratio", Meaning::refused, "A and B have one learning rate", "A 和 B 使用同一学习率"},
      {"loraplus_lr_embedding", Meaning::idle, "A and B have one learning rate"},
      {"use_rslora", Meaning::lora, ""},
      {"use_dora", Meaning::refused, "adapters are plain LoRA", "适配器是普通的 LoRA"},
      {"pissa_init", Meaning::refused, "the output of a new adapter is zero", "新适配器的输出为零"},
      {"pissa_*", Meaning::idle, "the output of a new adapter is zero"},
      {"create_new_adapter", Meaning::refused, "one adapter is trained; merge the first one: troika export --merge",
       "只训练一个适配器；请先合并前一个：troika export --merge"},
      {"oft_*", Meaning::idle, "finetuning_type oft is refused"},
      {"module_dropout", Meaning::idle, "finetuning_type oft is refused"},
      {"freeze_trainable_layers", Meaning::combined, "with freeze: train.trainable_layers, 2 if absent"},
      {"freeze_trainable_modules", Meaning::combined, "with freeze: all; other modules are refused"},
      {"freeze_extra_modules", Meaning::combined, "with freeze: refused"},
      {"freeze_vision_tower", Meaning::idle, "models read text only"},
      {"freeze_multi_modal_projector", Meaning::idle, "models read text only"},
      {"freeze_language_model", Meaning::idle, "models read text only"},
      {"use_llama_pro", Meaning::refused, "layers are trained as train.trainable_layers and train.freeze say",
       "训练哪些层由 train.trainable_layers 和 train.freeze 指定"},
      {"use_galore", Meaning::refused, "the optimizer is AdamW", "优化器为 AdamW"},
      {"use_apollo", Meaning::refused, "the optimizer is AdamW", "优化器为 AdamW"},
      {"use_badam", Meaning::refused, "the optimizer is AdamW", "优化器为 AdamW"},
      {"use_adam_mini", Meaning::refused, "the optimizer is AdamW", "优化器为 AdamW"},
      {"use_muon", Meaning::refused, "the optimizer is AdamW", "优化器为 AdamW"},
      {"galore_*", Meaning::idle, "the optimizer is AdamW"},
      {"apollo_*", Meaning::idle, "the optimizer is AdamW"},
      {"badam_*", Meaning::idle, "the optimizer is AdamW"},
      {"use_dft_loss", Meaning::refused, "the loss is cross entropy", "损失为交叉熵"},
      {"use_asft_loss", Meaning::refused, "the loss is cross entropy", "损失为交叉熵"},
      {"use_eaft_loss", Meaning::refused, "the loss is cross entropy", "损失为交叉熵"},
      {"asft_alpha", Meaning::idle, "the loss is cross entropy"},
      {"eaft_alpha", Meaning::idle, "the loss is cross entropy"},
      {"use_mca", Meaning::idle, "the parallel settings say how a run is sharded"},
      {"use_hyper_parallel", Meaning::idle, "the parallel settings say how a run is sharded"},
      {"hyper_parallel_args", Meaning::idle, "the parallel settings say how a run is sharded"},
      {"pref_*", Meaning::idle, "it concerns a stage that is refused"},
      {"dpo_*", Meaning::idle, "it concerns a stage that is refused"},
      {"kto_*", Meaning::idle, "it concerns a stage that is refused"},
      {"ppo_*", Meaning::idle, "it concerns a stage that is refused"},
      {"simpo_gamma", Meaning::idle, "it concerns a stage that is refused"},
      {"ld_alpha", Meaning::idle, "it concerns a stage that is refused"},
      {"ref_model*", Meaning::idle, "it concerns a stage that is refused"},
      {"reward_model*", Meaning::idle, "it concerns a stage that is refused"},
      {"compute_accuracy", Meaning::idle, "evaluation gives the loss"},
      {"early_stopping_steps", Meaning::spelling, ""},
  };
}

Rows data_rows() {
  return {
      {"dataset", Meaning::combined, "data.train"},
      {"eval_dataset", Meaning::combined, "data.valid"},
      {"dataset_dir", Meaning::combined, "data.folder; ONLINE and REMOTE are refused"},
      {"template", Meaning::combined,
       "alpaca and chatml set data.chat_template; else the model's own template is used"},
      {"cutoff_len", Meaning::spelling, ""},
      {"max_samples", Meaning::spelling, ""},
      {"train_on_prompt", Meaning::combined, "data.loss_on all"},
      {"mask_history", Meaning::combined, "data.loss_on last_answer"},
      {"packing", Meaning::combined, "data.packing, as neat_packing; with stage pt text is always packed"},
      {"neat_packing", Meaning::combined, "data.packing"},
      {"mix_strategy", Meaning::spelling, ""},
      {"interleave_probs", Meaning::spelling, ""},
      {"val_size", Meaning::spelling, ""},
      {"tokenized_path", Meaning::spelling, ""},
      {"enable_thinking", Meaning::spelling, ""},
      {"preserve_thinking", Meaning::idle, "the model's template decides which thinking is shown"},
      {"preprocessing_num_workers", Meaning::spelling, ""},
      {"disable_shuffling", Meaning::combined, "data.shuffle false"},
      {"train_sampling_strategy", Meaning::combined,
       "sequential: data.shuffle false; random, group_by_length: as usual"},
      {"default_system", Meaning::refused, "write the system message into the data", "请把系统消息写入数据"},
      {"tool_format", Meaning::idle, "the model's own template writes tools"},
      {"overwrite_cache", Meaning::idle, "prepared data is found by its content"},
      {"preprocessing_batch_size", Meaning::idle, "text is prepared in chunks of equal size"},
      {"data_shared_file_system", Meaning::idle, "shared folders are detected"},
      {"streaming", Meaning::idle, "prepared tokens are mapped from files, whatever their size"},
      {"buffer_size", Meaning::idle, "prepared tokens are mapped from files, whatever their size"},
      {"eval_on_each_dataset", Meaning::combined, "always: each source of data.valid has its loss beside that of all"},
      {"eval_num_beams", Meaning::idle, "evaluation gives the loss"},
      {"ignore_pad_token_for_loss", Meaning::idle, "padding never carries loss"},
      {"media_dir", Meaning::idle, "models read text only"},
      {"image_*", Meaning::idle, "models read text only"},
      {"video_*", Meaning::idle, "models read text only"},
      {"audio_*", Meaning::idle, "models read text only"},
      {"crop_to_patches", Meaning::idle, "models read text only"},
      {"use_audio_in_video", Meaning::idle, "models read text only"},
  };
}

Rows sharding_rows() {
  return {
      {"deepspeed", Meaning::combined,
       "a JSON file or a mapping: parallel.zero, parallel.offload and the numbers it states; a file that is absent "
       "goes by "
       "its name, as ds_z3_offload_config.json"},
      {"fsdp", Meaning::combined,
       "full_shard: parallel.zero 3; shard_grad_op: 2; no_shard (DDP): 0; offload: parallel.offload host"},
      {"fsdp_*", Meaning::idle, "the parallel settings say how a run is sharded"},
      {"ddp_timeout", Meaning::idle, "comm.timeout_seconds: how long a rank may stand still while others wait"},
      {"ddp_*", Meaning::idle, "gradients are reduced segment by segment"},
      {"accelerator_config", Meaning::idle, "the parallel settings say how a run is sharded"},
      {"parallelism_config", Meaning::refused, "give parallel.tp, parallel.cp and parallel.zero instead",
       "请改用 parallel.tp、parallel.cp 和 parallel.zero"},
      {"local_rank", Meaning::idle, "ranks are read from the variables that the launcher sets"},
      {"ray_*", Meaning::idle, "troika launch starts the ranks"},
      {"master_addr", Meaning::idle, "troika launch starts the ranks"},
      {"master_port", Meaning::idle, "troika launch starts the ranks"},
      {"resources_per_worker", Meaning::idle, "troika launch starts the ranks"},
      {"placement_strategy", Meaning::idle, "troika launch starts the ranks"},
  };
}

Rows run_rows() {
  return {
      {"output_dir", Meaning::spelling, ""},
      {"overwrite_output_dir", Meaning::combined, "train.resume never"},
      {"resume_from_checkpoint", Meaning::combined, "train.resume: true is auto, false is never, or a path"},
      {"save_strategy", Meaning::combined, "steps; no: a checkpoint at the end only; epoch: as steps"},
      {"save_steps", Meaning::combined, "checkpoint.every"},
      {"save_total_limit", Meaning::spelling, ""},
      {"save_only_model", Meaning::idle, "a checkpoint always has the optimizer's state"},
      {"save_on_each_node", Meaning::idle, "each host writes its own part"},
      {"save_safetensors", Meaning::idle, "checkpoints are safetensors"},
      {"eval_strategy", Meaning::combined, "steps: train.eval_every; no, epoch: at the end only"},
      {"evaluation_strategy", Meaning::combined, "as eval_strategy"},
      {"eval_steps", Meaning::combined, "train.eval_every with eval_strategy steps; logging_steps if absent"},
      {"eval_*", Meaning::idle, "evaluation gives the loss over all of data.valid"},
      {"per_device_eval_batch_size", Meaning::idle, "evaluation takes microbatches of the training's size"},
      {"load_best_model_at_end", Meaning::idle, "the best checkpoint is kept beside the newest (checkpoint.keep_best)"},
      {"metric_for_best_model", Meaning::idle, "the best is the one with the lowest loss"},
      {"greater_is_better", Meaning::idle, "the best is the one with the lowest loss"},
      {"logging_steps", Meaning::combined, "every step is logged; eval_steps falls back on it"},
      {"logging_dir", Meaning::combined, "log.tensorboard with report_to tensorboard"},
      {"logging_*", Meaning::idle, "every step is logged, in the run's folder"},
      {"log_*", Meaning::idle, "every rank has its log in the run's folder"},
      {"plot_loss", Meaning::idle, "metrics.jsonl has the loss of every step"},
      {"report_to", Meaning::combined, "tensorboard: log.tensorboard, in logging_dir; others have no effect"},
      {"run_name", Meaning::idle, "metrics are written to the run's folder only"},
      {"use_swanlab", Meaning::idle, "metrics are written to the run's folder only"},
      {"swanlab_*", Meaning::idle, "metrics are written to the run's folder only"},
      {"trackio_*", Meaning::idle, "metrics are written to the run's folder only"},
      {"project", Meaning::idle, "metrics are written to the run's folder only"},
      {"push_to_hub*", Meaning::idle, "nothing is sent anywhere"},
      {"hub_*", Meaning::idle, "nothing is sent anywhere"},
      {"include_num_input_tokens_seen", Meaning::idle, "metrics.jsonl has the tokens of every step"},
      {"include_tokens_per_second", Meaning::idle, "metrics.jsonl has the tokens of every step"},
      {"include_effective_tokens_per_second", Meaning::idle, "metrics.jsonl has the tokens of every step"},
      {"disable_tqdm", Meaning::idle, "log.progress says how progress is shown"},
      {"skip_memory_metrics", Meaning::idle, "metrics.jsonl has the memory of every step"},
      {"enable_torch_profiler", Meaning::idle, "train.profile records the timeline of steps"},
      {"profiler_*", Meaning::idle, "train.profile records the timeline of steps"},
      {"profile_modules", Meaning::idle, "train.profile records the timeline of steps"},
      {"debug", Meaning::idle, "every rank has its log in the run's folder"},
      {"use_cpu", Meaning::combined, "train.device cpu"},
      {"no_cuda", Meaning::combined, "train.device cpu"},
  };
}

Rows training_rows() {
  return {
      {"per_device_train_batch_size", Meaning::spelling, ""},
      {"per_gpu_train_batch_size", Meaning::spelling, ""},
      {"auto_find_batch_size", Meaning::spelling, ""},
      {"gradient_accumulation_steps", Meaning::spelling, ""},
      {"learning_rate", Meaning::spelling, ""},
      {"num_train_epochs", Meaning::spelling, ""},
      {"max_steps", Meaning::combined, "train.steps; -1 and 0: num_train_epochs decides"},
      {"lr_scheduler_type", Meaning::combined,
       "optimizer.lr_schedule: linear, cosine, cosine_with_min_lr, constant, constant_with_warmup, "
       "warmup_stable_decay; others are refused"},
      {"lr_scheduler_kwargs", Meaning::combined,
       "min_lr and min_lr_rate of cosine_with_min_lr: optimizer.min_lr; of warmup_stable_decay num_decay_steps, "
       "decay_type and min_lr_ratio: optimizer.decay_steps, decay and min_lr; num_stable_steps where all add up to "
       "max_steps"},
      {"warmup_steps", Meaning::combined, "optimizer.warmup_steps; below 1: optimizer.warmup_ratio"},
      {"warmup_ratio", Meaning::combined, "optimizer.warmup_ratio"},
      {"weight_decay", Meaning::spelling, ""},
      {"adam_beta1", Meaning::spelling, ""},
      {"adam_beta2", Meaning::spelling, ""},
      {"adam_epsilon", Meaning::spelling, ""},
      {"max_grad_norm", Meaning::spelling, ""},
      {"optim", Meaning::combined,
       "adamw_torch, adamw_torch_fused, adamw_hf and adamw_apex_fused are AdamW; others are refused"},
      {"optim_args", Meaning::refused, "the optimizer is AdamW, with adam_beta1, adam_beta2 and adam_epsilon",
       "优化器为 AdamW，参数为 adam_beta1、adam_beta2 和 adam_epsilon"},
      {"optim_target_modules", Meaning::refused, "the optimizer is AdamW over everything that is trained",
       "优化器为 AdamW，作用于所有要训练的部分"},
      {"adafactor", Meaning::refused, "the optimizer is AdamW", "优化器为 AdamW"},
      {"bf16", Meaning::spelling, ""},
      {"fp16", Meaning::spelling, ""},
      {"pure_bf16", Meaning::spelling, ""},
      {"bf16_full_eval", Meaning::idle, "evaluation computes as training does"},
      {"fp16_*", Meaning::idle, "precision.compute says what is computed in"},
      {"half_precision_backend", Meaning::idle, "precision.compute says what is computed in"},
      {"tf32", Meaning::idle, "fp32 is fp32"},
      {"seed", Meaning::spelling, ""},
      {"data_seed", Meaning::idle, "seed also orders the data"},
      {"full_determinism", Meaning::idle, "runs are deterministic; parallel.reproducible says how far"},
      {"label_smoothing_factor", Meaning::refused, "the loss is cross entropy", "损失为交叉熵"},
      {"neftune_noise_alpha", Meaning::refused, "embeddings get no noise", "嵌入不加噪声"},
      {"label_names", Meaning::idle, "the data's format says what the labels are"},
      {"group_by_length", Meaning::idle, "packing fills sequences of one length"},
      {"sortish_sampler", Meaning::idle, "packing fills sequences of one length"},
      {"length_column_name", Meaning::idle, "packing fills sequences of one length"},
      {"dataloader_*", Meaning::idle, "a thread reads microbatches ahead"},
      {"remove_unused_columns", Meaning::idle, "other keys of a record are ignored"},
      {"average_tokens_across_devices", Meaning::idle, "the loss is the mean over all tokens of a step"},
      {"torch_compile*", Meaning::idle, "nothing is compiled at run time"},
      {"torch_empty_cache_steps", Meaning::idle, "freed memory is kept for reuse"},
      {"use_ipex", Meaning::idle, "nothing is compiled at run time"},
      {"use_legacy_prediction_loop", Meaning::idle, "it concerns inference"},
      {"ignore_data_skip", Meaning::idle, "a resumed run continues at the next sample"},
      {"restore_callback_states_from_checkpoint", Meaning::idle, "a resumed run continues at the next sample"},
      {"enable_jit_checkpoint", Meaning::idle, "a run that is stopped saves first"},
      {"prediction_loss_only", Meaning::idle, "evaluation gives the loss"},
      {"include_inputs_for_metrics", Meaning::idle, "evaluation gives the loss"},
      {"include_for_metrics", Meaning::idle, "evaluation gives the loss"},
      {"batch_eval_metrics", Meaning::idle, "evaluation gives the loss"},
      {"generation_*", Meaning::idle, "troika generate has settings of its own"},
      {"do_sample", Meaning::idle, "troika generate has settings of its own"},
      {"temperature", Meaning::idle, "troika generate has settings of its own"},
      {"top_p", Meaning::idle, "troika generate has settings of its own"},
      {"top_k", Meaning::idle, "troika generate has settings of its own"},
      {"num_beams", Meaning::idle, "troika generate has settings of its own"},
      {"max_length", Meaning::idle, "it bounds generated text there; cutoff_len is the length of a sequence"},
      {"max_new_tokens", Meaning::idle, "troika generate has settings of its own"},
      {"repetition_penalty", Meaning::idle, "troika generate has settings of its own"},
      {"length_penalty", Meaning::idle, "troika generate has settings of its own"},
      {"skip_special_tokens", Meaning::idle, "troika generate has settings of its own"},
  };
}

}  // namespace

const std::vector<LlamaFactoryKey>& llama_factory_keys() {
  static const Rows all = [] {
    Rows rows;
    for (const auto& part : {model_rows(), method_rows(), data_rows(), sharding_rows(), run_rows(), training_rows()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

const LlamaFactoryKey* find_llama_factory_key(std::string_view name) {
  const std::string wanted = normalised(name);
  const LlamaFactoryKey* prefixed = nullptr;
  for (const auto& row : llama_factory_keys()) {
    const std::string known = normalised(row.name);
    if (known == wanted) return &row;
    if (known.back() == '*' && wanted.compare(0, known.size() - 1, known, 0, known.size() - 1) == 0) prefixed = &row;
  }
  return prefixed;
}

const std::vector<LlamaFactoryDefault>& llama_factory_defaults() {
  static const std::vector<LlamaFactoryDefault> rows = {
      {"data.folder", "data"},         {"data.dedup", "false"},
      {"batch.seq_len", "2048"},       {"batch.micro_batch_size", "8"},
      {"parallel.recompute", "full"},  {"optimizer.lr", "5e-05"},
      {"optimizer.min_lr", "0"},       {"optimizer.beta2", "0.999"},
      {"optimizer.weight_decay", "0"}, {"optimizer.lr_schedule", "linear"},
      {"optimizer.lr_at", "start"},
      {"train.epochs", "3"},           {"train.seed", "42"},
      {"checkpoint.every", "500"},     {"checkpoint.every_minutes", "0"},
      {"checkpoint.keep", "1000000"},
  };
  return rows;
}

}  // namespace troika::config
