#include "serve/run_texts.h"

#include <array>

namespace troika::serve {
namespace {

using base::Bilingual;

// In the order of Say.
constexpr std::array run_texts = {
    Bilingual{"'{}' is not under way", "“{}”没有在运行"},
    Bilingual{"'{}' is led from the host {}, which this page does not reach: stop it there",
              "“{}”由主机 {} 启动，本页面无法操作它：请在那台主机上停止"},
    Bilingual{"'{}' cannot be stopped from here: its process {} belongs to another user, does not "
              "write this run's folder, or has just ended",
              "无法从这里停止“{}”：它的进程 {} 属于其他用户，不写入该运行的目录，或刚刚结束"},
    Bilingual{"'{}' is under way already", "“{}”已经在运行"},
    Bilingual{"there is a run called '{}' that has trained: resume it, or choose another name",
              "已有名为“{}”的运行，并且已训练过：请续训它，或另取一个名字"},
    Bilingual{"there is something called '{}' already that is no run: choose another name",
              "已有名为“{}”的文件或目录，但不是运行：请另取一个名字"},
    Bilingual{"the folder that is served is itself a run: serve the folder above it to start others",
              "当前服务的目录本身就是一个运行：要启动新的运行，请改为服务它的上级目录"},
    Bilingual{"'{}' has no settings to resume with (config.yaml): start it from the form",
              "“{}”没有可供续训的配置（config.yaml）：请从表单启动"},
    Bilingual{"'{}' ran on {} hosts, and this page starts processes on its own host alone. On each of them:\n{}",
              "“{}”曾在 {} 台主机上运行，而本页面只能在本机启动进程。请在各主机上执行：\n{}"},
    Bilingual{"'{}' is not resumed by this page: in its {}, {}. Where you trust that folder, type: {}",
              "本页面不续训“{}”：在其 {} 中，{}。若您信任该目录，请执行：{}"},
    Bilingual{"it ended at once, with exit code {}:\n{}", "它立即结束了，退出码为 {}：\n{}"},
    Bilingual{"'{}' has no complete checkpoint yet", "“{}”还没有完整的检查点"},
    Bilingual{"'{}' has no complete checkpoint of step {}", "“{}”没有第 {} 步的完整检查点"},
    Bilingual{"'{}' is exporting its checkpoint of step {} already", "“{}”正在导出第 {} 步的检查点"},
    Bilingual{"'{}' has exported its checkpoint of step {} already, to {}", "“{}”已导出第 {} 步的检查点，位于 {}"},
    Bilingual{"say how: {{\"how\": \"save\"}} or {{\"how\": \"now\"}}",
              "请说明方式：{{\"how\": \"save\"}} 或 {{\"how\": \"now\"}}"},
    Bilingual{"data.train is not set: choose what to train on", "未设置 data.train：请选择训练数据"},
    Bilingual{"the body is no JSON object", "请求体不是 JSON 对象"},
    Bilingual{"the step is a whole number, or null for the newest checkpoint",
              "step 应为整数；若要最新的检查点，请用 null"},
    Bilingual{"messages is a list of {{\"role\": \"user\", \"content\": \"...\"}}",
              "messages 应为列表，各项形如 {{\"role\": \"user\", \"content\": \"...\"}}"},
    Bilingual{"a model is answering already: wait for it", "已有一个模型正在回答：请等它结束"},
};

}  // namespace

const base::Bilingual& text_of(Say text) { return run_texts.at(static_cast<std::size_t>(text)); }

std::vector<base::Bilingual> all_run_texts() { return {run_texts.begin(), run_texts.end()}; }

}  // namespace troika::serve
