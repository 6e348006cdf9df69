"""Conversations, a tokenizer and a chat template for fine-tuning, and what transformers makes of them."""
import random

import tokenizers
import transformers

import support

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# What stands between the generation marks is what the assistant is trained to write.
TEMPLATE = """{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.role == 'assistant' %}
{%- generation %}{{ message.content + '<|im_end|>' }}{% endgeneration %}
{%- else %}
{{- message.content + '<|im_end|>' }}
{%- endif %}
{{- '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}"""


def tokenizer_with_template(vocab=512):
    """Byte-level BPE trained on the repository's pages."""
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=vocab, special_tokens=SPECIAL, show_progress=False,
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    bpe.train([str(support.REPOSITORY / name) for name in ("CONTRIBUTING.md", "LICENSE")], trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = TEMPLATE
    return fast


def talks(count):
    """Questions and answers of one to three turns, with and without a system message."""
    draw = random.Random(3)
    words = "cat dog owl cow sheep duck horse frog bee wolf says meow woof hoot moo baa quack neigh croak buzz howl".split()
    sentence = lambda: " ".join(draw.choice(words) for _ in range(draw.randrange(2, 9))).capitalize() + draw.choice(".!?")
    made = []
    for number in range(count):
        talk = [{"role": "system", "content": sentence()}] if number % 3 == 0 else []
        for _ in range(draw.randrange(1, 4)):
            talk += [{"role": "user", "content": sentence()}, {"role": "assistant", "content": sentence()}]
        made.append(talk)
    return made


def ids_and_labels(tokenizer, talk):
    """The ids of a conversation and its labels, both by transformers: the mask comes from the generation marks."""
    made = tokenizer.apply_chat_template(talk, tokenize=True, return_dict=True, return_assistant_tokens_mask=True)
    ids, mask = list(made["input_ids"]), list(made["assistant_masks"])
    end = max(at for at, trained in enumerate(mask) if trained) + 1  # what follows the last answer is not trained on
    return {"input_ids": ids[:end], "labels": [one if trained else -100 for one, trained in zip(ids, mask)][:end]}
