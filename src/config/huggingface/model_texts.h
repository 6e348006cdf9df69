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
};
inline constexpr ModelTexts model_texts{};

}  // namespace troika::config
