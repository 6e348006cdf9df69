"""The parsers of LLaMA-Factory and DeepSpeed, each in a process of its own with its own packages.

    their_settings.py llama-factory|deepspeed

Without input: prints what the parser knows. With lines of JSON on standard input: prints for each what the parser makes of
it, {"values": ...}, or {"error": ...}."""
import dataclasses
import enum
import json
import sys


def plain(value):
    return value.value if isinstance(value, enum.Enum) else value


class LlamaFactory:
    def __init__(self):
        from llamafactory.hparams import parser
        self.parse_arguments, self.classes = parser._parse_train_args, parser._TRAIN_ARGS

    def known(self):
        """Every key with its type and its default."""
        fields = [field for one in self.classes for field in dataclasses.fields(one) if field.init]
        default = lambda field: None if field.default is dataclasses.MISSING else plain(field.default)
        return {field.name: {"type": str(field.type), "default": default(field)} for field in fields}

    def parse(self, settings):
        parsed = self.parse_arguments(settings)
        return {field.name: plain(getattr(part, field.name)) for part in parsed for field in dataclasses.fields(part)}


class DeepSpeed:
    def __init__(self):
        from deepspeed.runtime import config, precision_config
        from deepspeed.runtime.zero import config as zero, offload_config
        from deepspeed.runtime.tensor_parallel import config as tensor
        self.config = config.DeepSpeedConfig
        self.sections = {"zero_optimization": zero.DeepSpeedZeroConfig,
                         "zero_optimization.offload_optimizer": offload_config.DeepSpeedZeroOffloadOptimizerConfig,
                         "zero_optimization.offload_param": offload_config.DeepSpeedZeroOffloadParamConfig,
                         "bf16": precision_config.DeepSpeedBF16Config, "fp16": precision_config.DeepSpeedFP16Config,
                         "tensor_parallel": tensor.TPTrainingConfig}

    def known(self):
        """The keys of the sections that Troika reads, under both names where there are two."""
        names = lambda model: sorted({name for key, field in model.model_fields.items() for name in (key, field.alias) if name})
        return {section: names(model) for section, model in self.sections.items()}

    def parse(self, settings):
        made = self.config(settings)
        return {"stage": int(made.zero_optimization_stage), "train_batch_size": made.train_batch_size,
                "micro": made.train_micro_batch_size_per_gpu, "accumulation": made.gradient_accumulation_steps,
                "clipping": made.gradient_clipping, "bf16": made.bfloat16_config.enabled, "fp16": made.float16_config.enabled}


def main():
    library = {"llama-factory": LlamaFactory, "deepspeed": DeepSpeed}[sys.argv[1]]()
    lines = sys.stdin.read().split("\n")
    print("ANSWER " + json.dumps(library.known(), default=str), flush=True)
    for line in lines:
        if not line:
            continue
        try:
            answer = {"values": library.parse(json.loads(line))}
        except BaseException as error:  # argparse ends the process
            answer = {"error": f"{type(error).__name__}: {error}"}
        print("ANSWER " + json.dumps(answer, default=str), flush=True)


if __name__ == "__main__":
    main()
