"""Writes a GGUF file again with its matrices in bf16, vectors in fp32 as llama.cpp wants them, for decode.py.

    bf16_gguf.py FROM.gguf TO.gguf

The matrices are those of the folder that tools/proofs/real_models/unquantize.py makes of the same file, rounded to bf16."""
import pathlib
import sys

import gguf
from gguf import GGMLQuantizationType as Type


def copy_field(writer, field):
    kind = field.types[0]
    writer.add_key_value(field.name, field.contents(), kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)


def main():
    source, target = gguf.GGUFReader(sys.argv[1]), pathlib.Path(sys.argv[2])
    part = target.with_suffix(".part")
    writer = gguf.GGUFWriter(part, source.fields["general.architecture"].contents())
    for name, field in source.fields.items():
        if not name.startswith("GGUF.") and name not in ("general.architecture", "general.file_type"):
            copy_field(writer, field)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    for tensor in source.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        kind = Type.BF16 if len(tensor.shape) > 1 else Type.F32
        writer.add_tensor(tensor.name, gguf.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.rename(target)


if __name__ == "__main__":
    main()
