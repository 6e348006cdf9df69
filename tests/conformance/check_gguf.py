"""GGUF files of Troika in the package gguf, and the package's in Troika.

    check_gguf.py WORK_FOLDER

For every family: `troika export` writes each tensor with the bytes that gguf.quants.quantize gives; Troika computes the logits of the
file that it wrote, and of the same file with weights that the package has quantised, as transformers does with these weights."""
import pathlib
import sys

import gguf
import numpy
import torch
from gguf import quants

import check_models
import small_models
import support

LIMIT = 1e-5
WRITTEN = {"fp32": "F32", "fp16": "F16", "bf16": "BF16", "q8_0": "Q8_0"}
READ = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "BF16", "F16"]


def names_of(file):
    """By Hugging Face's name without its ending, the name in the file."""
    architecture = file.fields["general.architecture"].contents()
    number = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == architecture)
    return gguf.get_tensor_name_map(number, 8).get_name


def heads_of(config, name):
    """Of a tensor whose rows llama.cpp reorders."""
    if config.model_type not in ("llama", "mistral"):
        return None
    return {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(name.split(".")[-2])


def arranged(config, name, numbers):
    """As convert_hf_to_gguf.py of llama.cpp has them."""
    heads = heads_of(config, name)
    if heads:
        rows = numbers.reshape(heads, 2, numbers.shape[0] // heads // 2, *numbers.shape[1:])
        return rows.swapaxes(1, 2).reshape(numbers.shape)
    return numbers.T if is_transposed(config, name, numbers) else numbers


def is_transposed(config, name, numbers):
    return config.model_type == "gpt2" and ".h." in name and numbers.ndim == 2


def published(config, name, numbers):
    heads = heads_of(config, name)
    if heads:
        rows = numbers.reshape(heads, numbers.shape[0] // heads // 2, 2, *numbers.shape[1:])
        return rows.swapaxes(1, 2).reshape(numbers.shape)
    return numbers.T if is_transposed(config, name, numbers) else numbers


def type_of(name, numbers, wanted):
    """By the rules of docs/formats/gguf.md."""
    if numbers.ndim == 1 or name.endswith("wpe.weight"):
        return "F32"
    return "F16" if wanted.startswith("Q") and numbers.shape[-1] % 32 else wanted


def quantised(numbers, kind):
    return numpy.ascontiguousarray(quants.quantize(numbers, gguf.GGMLQuantizationType[kind]))


def tensors_of(model):
    tied = model.config.tie_word_embeddings
    return {name: tensor.float().numpy() for name, tensor in model.state_dict().items()
            if not (tied and name == "lm_head.weight")}


def check_written(subject, model, folder, work):
    for word, kind in WRITTEN.items():
        path = work / f"{word}.gguf"
        support.troika("export", folder, path, "--dtype", word)
        file = gguf.GGUFReader(path)
        stored, name_in = {tensor.name: tensor for tensor in file.tensors}, names_of(file)
        different = []
        for name, numbers in tensors_of(model).items():
            ours, ending = arranged(model.config, name, numbers), name.rsplit(".", 1)[1]
            tensor, wanted = stored.pop(f"{name_in(name.rsplit('.', 1)[0])}.{ending}"), type_of(name, ours, kind)
            if tensor.tensor_type.name != wanted or tensor.data.tobytes() != quantised(ours, wanted).tobytes():
                different.append(name)
        stored.pop("rope_freqs.weight", None)
        support.report("gguf", f"{subject}: tensors in {kind}", f"{len(different)} differ, {len(stored)} unknown", not different and not stored)


def rewritten(source, path, tensors):
    """The file `source` with other tensors: bytes and type by name."""
    file = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, file.fields["general.architecture"].contents())
    for key, field in file.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        writer.add_key_value(key, field.contents(), field.types[0], field.types[-1] if len(field.types) > 1 else None)
    for tensor in file.tensors:
        data, kind = tensors.get(tensor.name, (tensor.data, tensor.tensor_type.name))
        writer.add_tensor(tensor.name, data, raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check_read(subject, model, work, rows):
    name_in = names_of(gguf.GGUFReader(work / "fp32.gguf"))
    for kind in READ:
        tensors, weights = {}, {}
        for name, numbers in tensors_of(model).items():
            ours = arranged(model.config, name, numbers)
            if type_of(name, ours, kind) != kind:
                continue
            data, ending = quantised(ours, kind), name.rsplit(".", 1)[1]
            tensors[f"{name_in(name.rsplit('.', 1)[0])}.{ending}"] = (data, kind)
            again = quants.dequantize(data, gguf.GGMLQuantizationType[kind]).reshape(ours.shape)
            weights[name] = torch.from_numpy(numpy.ascontiguousarray(published(model.config, name, again)))
        path = work / f"{kind}.gguf"
        rewritten(work / "fp32.gguf", path, tensors)
        model.load_state_dict(weights, strict=False)
        model.tie_weights()
        logits, _ = check_models.of_transformers(model, rows)
        ours, _ = check_models.of_troika(path, rows, work)
        support.report_limit("gguf", f"{subject}: logits in {kind}", check_models.worst(ours, logits), LIMIT)


def main():
    work = pathlib.Path(sys.argv[1])
    for number, (name, config) in enumerate(small_models.configs(hidden=96, ffn=160).items()):
        place = work / name.replace(", ", "-").replace(" ", "-")
        place.mkdir(parents=True)
        model = small_models.model_of(config, number)
        model.save_pretrained(place / "theirs")
        check_written(name, model, place / "theirs", place)
        check_read(name, model, place, check_models.samples(config.vocab_size))
    support.finish()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
