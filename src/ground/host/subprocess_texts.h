// Why a program could not be started, in both languages.
#pragma once

#include "base/language.h"

namespace troika::host {

struct SubprocessTexts {
  base::Bilingual no_start = {"cannot start '{}': {}", "无法启动“{}”：{}"};
  base::Bilingual no_null = {"cannot start '{}': /dev/null cannot be opened: {}; without it programs have no empty input",
                             "无法启动“{}”：无法打开 /dev/null：{}；没有它，程序就没有空输入"};
  base::Bilingual no_folder = {"cannot start '{0}' in the folder '{1}': {2}", "无法在目录“{1}”中启动“{0}”：{2}"};
};

inline constexpr SubprocessTexts subprocess_texts{};

}  // namespace troika::host
