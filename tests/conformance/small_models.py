"""A small random model of every family, made by transformers. Weights are drawn wider than transformers starts with,
norms and biases included, so that nothing hides behind ones and zeros."""
import torch
import transformers

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
        "original_max_position_embeddings": 64}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}


GEMMA_LAYERS = ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"]
GEMMA_ROPE = {"sliding_attention": {"rope_type": "default", "rope_theta": 3000.0},
              "full_attention": {"rope_type": "linear", "rope_theta": 100000.0, "factor": 4.0}}


def rotary(theta):
    return {"rope_type": "default", "rope_theta": theta}


def configs(vocab=320, hidden=48, layers=2, ffn=80):
    """By name, the configuration of transformers."""
    t = transformers
    common = dict(vocab_size=vocab, hidden_size=hidden, num_hidden_layers=layers, intermediate_size=ffn,
                  num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1,
                  eos_token_id=2, pad_token_id=None)
    return {
        "qwen3": t.Qwen3Config(**common, head_dim=16, rope_parameters=rotary(1e6), tie_word_embeddings=True),
        "qwen3, untied": t.Qwen3Config(**common, head_dim=8, rope_parameters=rotary(1e4), tie_word_embeddings=False),
        "qwen2": t.Qwen2Config(**common, rope_parameters=rotary(1e6), tie_word_embeddings=False),
        "qwen2, tied": t.Qwen2Config(**common, rope_parameters=rotary(1e4), tie_word_embeddings=True),
        "llama": t.LlamaConfig(**common, rope_parameters=rotary(1e4), rms_norm_eps=1e-5, tie_word_embeddings=False),
        "llama, llama3 scaling": t.LlamaConfig(**common, rope_parameters=LLAMA3, rms_norm_eps=1e-5,
                                               tie_word_embeddings=True),
        "qwen2, yarn": t.Qwen2Config(**common, rope_parameters=YARN),
        "llama, linear scaling": t.LlamaConfig(**common, rope_parameters=LINEAR, head_dim=16,
                                               tie_word_embeddings=False),
        "mistral": t.MistralConfig(**common, rope_parameters=rotary(1e6), sliding_window=None, rms_norm_eps=1e-5,
                                   tie_word_embeddings=False),
        "mistral, head_dim": t.MistralConfig(**common, head_dim=8, rope_parameters=rotary(1e4), sliding_window=None,
                                             tie_word_embeddings=True),
        "mistral, window": t.MistralConfig(**common, rope_parameters=rotary(1e4), sliding_window=5, tie_word_embeddings=False),
        "qwen2, window": t.Qwen2Config(**common, rope_parameters=rotary(1e4), use_sliding_window=True, sliding_window=6,
                                       max_window_layers=1),
        "smollm3": t.SmolLM3Config(**common, rope_parameters=rotary(1e4), no_rope_layers=[1, 0, 1, 0][:layers]),
        "granite": t.GraniteConfig(**common, rope_parameters=rotary(1e4), attention_multiplier=0.2, embedding_multiplier=12.0,
                                   residual_multiplier=0.22, logits_scaling=3.0, tie_word_embeddings=True),
        "gemma3": t.Gemma3TextConfig(**common, head_dim=16, sliding_window=7, layer_types=GEMMA_LAYERS[:layers],
                                     query_pre_attn_scalar=24),
        "gemma3, scaled": t.Gemma3TextConfig(**common, head_dim=8, sliding_window=6, layer_types=GEMMA_LAYERS[:layers],
                                             query_pre_attn_scalar=8, rope_parameters=GEMMA_ROPE),
        "gpt2": t.GPT2Config(vocab_size=vocab, n_embd=hidden, n_layer=layers, n_head=4, n_positions=64, bos_token_id=1,
                             eos_token_id=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0),
        "gpt2, n_inner": t.GPT2Config(vocab_size=vocab, n_embd=hidden, n_layer=layers, n_head=3, n_positions=64,
                                      n_inner=72, bos_token_id=1, eos_token_id=2, resid_pdrop=0.0, embd_pdrop=0.0,
                                      attn_pdrop=0.0),
    }


def model_of(config, seed, dtype=torch.float32, spread=0.08):
    """A model of `config` in evaluation mode with seeded weights, exact in `dtype`."""
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            values = torch.randn(parameter.shape, generator=draw) * spread
            parameter.copy_(values + 1 if parameter.dim() == 1 and name.endswith("weight") else values)
    return model.to(dtype).eval()


def loaded(folder):
    """The model of a folder as transformers loads it, in fp32."""
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                             attn_implementation="eager").eval()
