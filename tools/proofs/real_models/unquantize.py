"""Makes the folder of a model of a GGUF file: weights in fp32, configuration, tokenizer, chat template, as transformers reads them.

    unquantize.py FILE.gguf FOLDER"""
import pathlib
import sys

import torch
import transformers

gguf, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
source = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
transformers.AutoTokenizer.from_pretrained(**source).save_pretrained(folder)
model = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
# It is no longer quantized, which transformers does not notice.
model.hf_quantizer = None
if hasattr(model.config, "quantization_config"):
    del model.config.quantization_config
model.save_pretrained(folder)
