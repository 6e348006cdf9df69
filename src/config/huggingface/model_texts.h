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
