// What is wrong with a folder that is to hold a model, in both languages.
#pragma once

#include "base/language.h"

namespace troika::config {

struct ModelTexts {
  base::Bilingual no_object = {"{} is not a JSON object", "{} 不是 JSON 对象"};
  base::Bilingual no_base = {"the adapter '{}' does not name its base model; give that model's folder with --base PATH",
                             "适配器“{}”没有指明基础模型；请用 --base PATH 给出该模型的目录"};
  base::Bilingual base_elsewhere = {
      "the base model of the adapter '{}' is '{}', which is not a folder here; give that model's folder with --base "
      "PATH",
      "适配器“{}”的基础模型是“{}”，本机没有这个目录；请用 --base PATH 给出该模型的目录"};
  base::Bilingual too_many_adapters = {
      "'{}' is an adapter on an adapter, more than {} times over; does one name itself?",
      "“{}”是适配器之上的适配器，超过了 {} 层；是否有适配器指向自身？"};
  base::Bilingual no_path = {"the path of a model is empty", "模型的路径为空"};
  base::Bilingual no_folder = {"'{}' is not a folder here: nothing is downloaded, so copy the model's folder",
                               "本机没有目录“{}”：不会下载任何内容，请把模型目录复制过来"};
  base::Bilingual gguf_file = {
      "'{}' is a GGUF file, which is not read here; give the model's folder with config.json and *.safetensors: "
      "transformers makes one by from_pretrained(DIR, gguf_file=NAME) and save_pretrained(FOLDER)",
      "“{}”是 GGUF 文件，这里无法读取；请给出含 config.json 和 *.safetensors 的模型目录：transformers 可用 "
      "from_pretrained(DIR, gguf_file=NAME) 和 save_pretrained(FOLDER) 生成"};
  base::Bilingual gguf_folder = {
      "'{}' holds a GGUF file ('{}'), which is not read here, and no config.json; give the model's folder with "
      "config.json and *.safetensors: transformers makes one by from_pretrained(DIR, gguf_file=NAME) and "
      "save_pretrained(FOLDER)",
      "“{}”中有 GGUF 文件（“{}”），这里无法读取，而没有 config.json；请给出含 config.json 和 *.safetensors "
      "的模型目录：transformers 可用 from_pretrained(DIR, gguf_file=NAME) 和 save_pretrained(FOLDER) 生成"};
  base::Bilingual weights_file = {
      "'{}' is one file of weights; give the folder that holds it together with config.json, here '{}'",
      "“{}”只是一个权重文件；请给出它和 config.json 所在的目录，这里是“{}”"};
  base::Bilingual pickle_file = {
      "'{}' is a file of PyTorch's, which is a program as well as data and is not read; give a model's folder with "
      "config.json and *.safetensors, as save_pretrained(FOLDER, safe_serialization=True) writes it",
      "“{}”是 PyTorch 的文件，它既是数据也是程序，不会被读取；请给出含 config.json 和 *.safetensors "
      "的模型目录，可由 save_pretrained(FOLDER, safe_serialization=True) 写出"};
  base::Bilingual other_kind_of_file = {"'{}' is a file; give the folder that holds config.json and the weights",
                                        "“{}”是文件；请给出含 config.json 和权重的目录"};
  base::Bilingual hub_cache = {
      "'{}' belongs to the cache of the Hugging Face Hub; give the model's folder in it, '{}'",
      "“{}”是 Hugging Face Hub 的缓存目录；请给出其中的模型目录“{}”"};
  base::Bilingual hub_name = {
      "'{0}' is not a folder here and looks like a model's name on the Hugging Face Hub, from which nothing is "
      "downloaded; where there is a network: hf download {0} --local-dir {1}, then give that folder",
      "本机没有目录“{0}”，它像是 Hugging Face Hub 上的模型名，而这里不会下载任何内容；请在有网络的机器上运行 hf download "
      "{0} --local-dir {1}，然后给出该目录"};
  base::Bilingual address = {
      "'{}' is an address, from which nothing is downloaded; download the model (hf download ORG/NAME --local-dir "
      "FOLDER) and give its folder",
      "“{}”是网址，这里不会下载任何内容；请先下载模型（hf download ORG/NAME --local-dir FOLDER），再给出其目录"};
  base::Bilingual lfs_pointer = {
      "'{}' is a pointer of Git LFS and not the file itself; fetch it with git lfs pull in '{}'",
      "“{}”是 Git LFS 的指针，而不是文件本身；请在“{}”中用 git lfs pull 取回"};
  base::Bilingual out_of_model = {
      "--out '{0}' holds {1}, which belongs to a model, an adapter, a tokenizer or a checkpoint: whoever gives '{2}' later "
      "would get that and not what was trained; give the run a folder of its own, such as {2}/run",
      "--out“{0}”中有 {1}，它属于模型、适配器、分词器或检查点：以后给出“{2}”时取到的会是它，而不是训练结果；请为运行另选目录，例如 "
      "{2}/run"};
  base::Bilingual two_thetas = {
      "rope_theta is {0} at the top of {1} and {2} in its {3}; the latter is taken, as by transformers",
      "{1} 顶层的 rope_theta 为 {0}，而其 {3} 中为 {2}；与 transformers 一样采用后者"};
  base::Bilingual no_model = {
      "'{}' holds no model: neither config.json (a model's folder), nor model/config.json (a checkpoint), nor "
      "checkpoints/step-NNNNNNNN/model/config.json (a run)",
      "“{}”中没有模型：既没有 config.json（模型目录），也没有 model/config.json（检查点），也没有 "
      "checkpoints/step-NNNNNNNN/model/config.json（运行）"};
  base::Bilingual too_large = {"{} has {} bytes; at most {} are read", "{} 有 {} 字节；最多读取 {} 字节"};

  // Of config.json.
  base::Bilingual not_supported = {"{} describes a model that is not supported:\n  {}",
                                   "{} 描述的模型不受支持：\n  {}"};
  base::Bilingual key = {"{}{} is {}: {}", "{}{} 为 {}：{}"};
  base::Bilingual absent = {"{}{} is absent: {}", "缺少 {}{}：{}"};
  base::Bilingual whole = {"a whole number from {:.0f} to {:.0f} is needed", "应为 {:.0f} 到 {:.0f} 的整数"};
  base::Bilingual number = {"a number from {:g} to {:g} is needed", "应为 {:g} 到 {:g} 的数"};
  base::Bilingual truth = {"true or false is needed", "应为 true 或 false"};
  base::Bilingual word = {"a word is needed", "应为一个词"};
  base::Bilingual none_supported = {"this is not supported", "不支持"};
  base::Bilingual only = {"only {} is supported", "只支持 {}"};
  base::Bilingual alternative = {" or ", " 或 "};
  base::Bilingual only_for = {"only [\"{0}\"] is supported for {1}", "{1} 只支持 [\"{0}\"]"};
  base::Bilingual own_code = {"the model computes with code of its own, which is not run here",
                              "该模型用自带的代码计算，这里不会运行它"};
  base::Bilingual full_attention = {"only \"full_attention\" is supported, for every layer",
                                    "每一层都只支持 \"full_attention\""};
  base::Bilingual window = {
      "{}attention over a window is not supported, and max_position_embeddings is {}; set it to the window when no "
      "sequence is longer",
      "{}不支持窗口注意力，而 max_position_embeddings 为 {}；如果没有更长的序列，请将其设为窗口大小"};
  base::Bilingual usual_window = {"this means 4096; ", "这表示 4096；"};
  base::Bilingual llama3_needs = {"llama3 needs it", "llama3 需要此项"};
  base::Bilingual needs = {"{} needs it", "{} 需要此项"};
  base::Bilingual scalings = {"only default, linear and llama3 are supported", "只支持 default、linear 和 llama3"};
  base::Bilingual two_scalings = {"rope_scaling is given as well; one of them is needed",
                                  "同时给出了 rope_scaling；只能给出其中一个"};
  base::Bilingual numbers_and_words = {"an object of numbers and words is needed", "应为由数和词组成的对象"};
  base::Bilingual head_dim = {"hidden_size {} is not a multiple of num_attention_heads {}",
                              "hidden_size {} 不是 num_attention_heads {} 的倍数"};
  base::Bilingual divides = {"it must divide n_embd {}", "必须能整除 n_embd {}"};
  base::Bilingual families = {"the families are {}", "支持的模型系列有 {}"};

  base::Bilingual other_file = {
      "'{}' is not the file that was saved with the checkpoint: its hash is not that of the manifest; copy it from "
      "another checkpoint or host of the run, or remove it and name a tokenizer with --data.tokenizer",
      "“{}”不是随检查点保存的文件：其哈希值与清单不符；请从该运行的其他检查点或主机复制，或删除它并用 --data.tokenizer "
      "指定分词器"};
};
inline constexpr ModelTexts model_texts{};

}  // namespace troika::config
