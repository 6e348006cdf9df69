"""The decoder families once more, in PyTorch with autograd and float64, written from the papers and the published
config.json files: what Troika's own arithmetic is held against. Shapes: B sequences, T positions, D width."""
import math

import torch
import torch.nn.functional as F


def random_weights(shapes, dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in shapes.items():
        values = torch.randn(shape, generator=generator, dtype=torch.float32) * 0.08
        if len(shape) == 1 and name.endswith("weight"):
            values = 1 + values  # gains of norms
        weights[name] = values.to(dtype)
    return weights


class Rotary:
    """Qwen3, Qwen2, Llama, Mistral."""

    def __init__(self, family, *, layers=2, hidden=48, heads=4, kv_heads=2, head_dim=16, ffn=80, vocab=320, tied=True,
                 theta=10000.0, eps=1e-6, scaling=None):
        self.family, self.layers, self.hidden, self.heads, self.kv_heads = family, layers, hidden, heads, kv_heads
        self.head_dim, self.ffn, self.vocab, self.tied, self.theta = head_dim, ffn, vocab, tied, theta
        self.eps, self.scaling = eps, scaling

    def config(self, dtype):
        c = {"architectures": [{"qwen3": "Qwen3", "qwen2": "Qwen2", "llama": "Llama", "mistral": "Mistral"}[self.family]
                               + "ForCausalLM"],
             "model_type": self.family, "hidden_size": self.hidden, "num_hidden_layers": self.layers,
             "num_attention_heads": self.heads, "num_key_value_heads": self.kv_heads,
             "intermediate_size": self.ffn, "vocab_size": self.vocab, "rms_norm_eps": self.eps,
             "rope_theta": self.theta, "max_position_embeddings": 4096, "tie_word_embeddings": self.tied,
             "hidden_act": "silu", "torch_dtype": dtype, "bos_token_id": 1, "eos_token_id": 2,
             "attention_dropout": 0.0, "use_cache": True, "transformers_version": "4.51.0"}
        if self.head_dim * self.heads != self.hidden or self.family == "qwen3":
            c["head_dim"] = self.head_dim
        if self.family in ("qwen3", "qwen2"):
            c.update({"use_sliding_window": False, "max_window_layers": self.layers})
            c["sliding_window"] = None if self.family == "qwen3" else 131072
        if self.family in ("qwen3", "llama"):
            c["attention_bias"] = False
        if self.family == "llama":
            c.update({"mlp_bias": False, "pretraining_tp": 1})
        if self.family == "mistral":
            c["sliding_window"] = None
        if self.family != "mistral":
            c["rope_scaling"] = self.scaling
        return c

    def shapes(self):
        D, H = self.hidden, self.head_dim
        shapes = {"model.embed_tokens.weight": (self.vocab, D)}
        for layer in range(self.layers):
            at = f"model.layers.{layer}."
            shapes[at + "input_layernorm.weight"] = (D,)
            for name, heads in (("q", self.heads), ("k", self.kv_heads), ("v", self.kv_heads)):
                shapes[f"{at}self_attn.{name}_proj.weight"] = (heads * H, D)
                if self.family == "qwen2":
                    shapes[f"{at}self_attn.{name}_proj.bias"] = (heads * H,)
            if self.family == "qwen3":
                shapes[at + "self_attn.q_norm.weight"] = shapes[at + "self_attn.k_norm.weight"] = (H,)
            shapes[at + "self_attn.o_proj.weight"] = (D, self.heads * H)
            shapes[at + "post_attention_layernorm.weight"] = (D,)
            shapes[at + "mlp.gate_proj.weight"] = shapes[at + "mlp.up_proj.weight"] = (self.ffn, D)
            shapes[at + "mlp.down_proj.weight"] = (D, self.ffn)
        shapes["model.norm.weight"] = (D,)
        if not self.tied:
            shapes["lm_head.weight"] = (self.vocab, D)
        return shapes

    def stored(self, weights):
        return weights

    def frequencies(self):
        H = self.head_dim
        inverse = [self.theta ** (-2 * i / H) for i in range(H // 2)]
        if self.scaling is None:
            return inverse
        factor = self.scaling["factor"]
        if self.scaling["rope_type"] == "linear":
            return [f / factor for f in inverse]
        low, high = self.scaling["low_freq_factor"], self.scaling["high_freq_factor"]
        original = self.scaling["original_max_position_embeddings"]
        scaled = []
        for f in inverse:
            wavelength = 2 * math.pi / f
            if wavelength < original / high:
                scaled.append(f)
            elif wavelength > original / low:
                scaled.append(f / factor)
            else:
                share = (original / wavelength - low) / (high - low)
                scaled.append((1 - share) * f / factor + share * f)
        return scaled

    def rms(self, x, gain):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * gain

    def rotate(self, x):
        T, half = x.shape[1], self.head_dim // 2
        angle = torch.arange(T, dtype=x.dtype)[:, None] * torch.tensor(self.frequencies(), dtype=x.dtype)
        cos, sin = angle.cos()[None, :, None], angle.sin()[None, :, None]
        first, second = x[..., :half], x[..., half:]
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

    def attention(self, w, at, x):
        B, T, _ = x.shape
        H = self.head_dim
        parts = {}
        for name, heads in (("q", self.heads), ("k", self.kv_heads), ("v", self.kv_heads)):
            y = F.linear(x, w[f"{at}{name}_proj.weight"], w.get(f"{at}{name}_proj.bias")).view(B, T, heads, H)
            if name != "v":
                if self.family == "qwen3":
                    y = self.rms(y, w[f"{at}{name}_norm.weight"])
                y = self.rotate(y)
            parts[name] = y
        group = self.heads // self.kv_heads
        k, v = (parts[name].repeat_interleave(group, 2) for name in "kv")
        return F.linear(causal(parts["q"], k, v), w[at + "o_proj.weight"])

    def logits(self, w, ids):
        x = w["model.embed_tokens.weight"][ids]
        for layer in range(self.layers):
            at = f"model.layers.{layer}."
            x = x + self.attention(w, at + "self_attn.", self.rms(x, w[at + "input_layernorm.weight"]))
            h = self.rms(x, w[at + "post_attention_layernorm.weight"])
            gated = F.silu(F.linear(h, w[at + "mlp.gate_proj.weight"])) * F.linear(h, w[at + "mlp.up_proj.weight"])
            x = x + F.linear(gated, w[at + "mlp.down_proj.weight"])
        head = w["model.embed_tokens.weight"] if self.tied else w["lm_head.weight"]
        return F.linear(self.rms(x, w["model.norm.weight"]), head)


class Gpt2:
    def __init__(self, *, layers=2, hidden=48, heads=4, vocab=320, positions=64):
        self.family, self.layers, self.hidden, self.heads = "gpt2", layers, hidden, heads
        self.vocab, self.positions, self.eps = vocab, positions, 1e-5

    def config(self, dtype):
        return {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new",
                "n_embd": self.hidden, "n_layer": self.layers, "n_head": self.heads, "n_positions": self.positions,
                "n_ctx": self.positions, "n_inner": None, "vocab_size": self.vocab, "layer_norm_epsilon": self.eps,
                "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "initializer_range": 0.02,
                "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": dtype}

    def shapes(self):
        D = self.hidden
        shapes = {"transformer.wte.weight": (self.vocab, D), "transformer.wpe.weight": (self.positions, D)}
        for layer in range(self.layers):
            at = f"transformer.h.{layer}."
            for norm in ("ln_1", "ln_2"):
                shapes[f"{at}{norm}.weight"] = shapes[f"{at}{norm}.bias"] = (D,)
            for name, inputs, outputs in (("attn.c_attn", D, 3 * D), ("attn.c_proj", D, D), ("mlp.c_fc", D, 4 * D),
                                          ("mlp.c_proj", 4 * D, D)):
                shapes[f"{at}{name}.weight"], shapes[f"{at}{name}.bias"] = (inputs, outputs), (outputs,)
        shapes["transformer.ln_f.weight"] = shapes["transformer.ln_f.bias"] = (D,)
        return shapes

    def stored(self, weights):
        """As the published file has them: without the prefix, with the masks."""
        tensors = {name[len("transformer."):]: tensor for name, tensor in weights.items()}
        mask = torch.tril(torch.ones(self.positions, self.positions)).view(1, 1, self.positions, self.positions)
        for layer in range(self.layers):
            tensors[f"h.{layer}.attn.bias"] = mask
        return tensors

    def norm(self, w, name, x):
        return F.layer_norm(x, (self.hidden,), w[name + ".weight"], w[name + ".bias"], self.eps)

    def logits(self, w, ids):
        B, T = ids.shape
        x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][:T]
        for layer in range(self.layers):
            at = f"transformer.h.{layer}."
            product = lambda name, h: h @ w[f"{at}{name}.weight"] + w[f"{at}{name}.bias"]
            q, k, v = (part.view(B, T, self.heads, -1)
                       for part in product("attn.c_attn", self.norm(w, at + "ln_1", x)).chunk(3, -1))
            x = x + product("attn.c_proj", causal(q, k, v))
            h = product("mlp.c_fc", self.norm(w, at + "ln_2", x))
            gelu = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h ** 3)))
            x = x + product("mlp.c_proj", gelu)
        return F.linear(self.norm(w, "transformer.ln_f", x), w["transformer.wte.weight"])


def causal(q, k, v):
    """[B, T, heads, H] each; returns [B, T, heads * H]."""
    B, T, heads, H = q.shape
    scores = torch.einsum("bthc,bshc->bhts", q, k) / math.sqrt(H)
    scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), float("-inf"))
    return torch.einsum("bhts,bshc->bthc", scores.softmax(-1), v).reshape(B, T, heads * H)


def loss_sum(logits, labels):
    """Sum over the positions whose next label is not -100, and their number."""
    targets = labels[:, 1:].reshape(-1)
    losses = F.cross_entropy(logits[:, :-1].reshape(len(targets), -1), targets, ignore_index=-100, reduction="sum")
    return losses, int((targets != -100).sum())
