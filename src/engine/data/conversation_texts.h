// What is wrong with conversations, and what becomes of them, in both languages.
#pragma once

#include "base/language.h"

namespace troika::data {

struct ConversationTexts {
  base::Bilingual is_null = {"{}: '{}' is null: give it a text, or take the record out",
                             "{}：“{}”为空值 null：请给出文本，或去掉该记录"};
  base::Bilingual unknown_role = {
      "{}: '{}' is '{}', which is no role{}: known are {}; tags of dataset_info.json give the roles other names",
      "{}：“{}”为“{}”，不是已知的角色{}：已知的有 {}；dataset_info.json 的 tags 可为角色指定其他名称"};
  base::Bilingual two_calls = {"{}: '{}' has both tool_calls and function_call: leave one of them out",
                               "{}：“{}”同时有 tool_calls 和 function_call：请去掉其中一个"};
  base::Bilingual two_tools = {"{}: the record has both '{}' and 'functions': leave one of them out",
                               "{}：记录同时有“{}”和“functions”：请去掉其中一个"};
  base::Bilingual media = {"{}: '{}' is not empty, but only text is trained on: take the record out",
                           "{}：“{}”不为空，但只训练文本：请去掉该记录"};
  base::Bilingual picture_in_text = {
      "{}: '{}' holds <image>, the place of a picture, but only text is trained on: take the record out",
      "{}：“{}”含有图片占位符 <image>，但只训练文本：请去掉该记录"};

  // Marks.
  base::Bilingual mark_value = {
      "{}: '{}' is {}, but only 1 or true (loss) and 0 or false (no loss) are understood: write one of them",
      "{}：“{}”为 {}，但只能为 1 或 true（计算损失）、0 或 false（不计算损失）：请改写"};
  base::Bilingual mask_number = {
      "{}: '{}' is {}, which some programs read as masked and others as learnt: write \"train\": true or false instead",
      "{}：“{}”为 {}，有的程序理解为屏蔽，有的理解为训练：请改写为 \"train\": true 或 false"};
  base::Bilingual mark_of_part = {
      "{}: '{}' marks parts of a message, but a message carries loss as a whole: write \"train\": true or false "
      "instead",
      "{}：“{}”标记了消息的一部分，但损失按整条消息计算：请改写为 \"train\": true 或 false"};
  base::Bilingual marks_contradict = {"{}: '{}' and '{}' contradict each other: leave one of them out",
                                      "{}：“{}”与“{}”相互矛盾：请去掉其中一个"};
  base::Bilingual mark_of_other = {
      "{}: '{}' asks for loss on a message of the role '{}', but only answers carry loss: leave it out, or set "
      "--data.loss-on all",
      "{}：“{}”要求对角色为“{}”的消息计算损失，但只有回答计算损失：请去掉它，或设置 --data.loss-on all"};
  base::Bilingual mark_in_all = {
      "{}: '{}' takes the loss off a message, but data.loss_on is all: set it to answers, or leave the key out",
      "{}：“{}”取消了一条消息的损失，但 data.loss_on 为 all：请设为 answers，或去掉该键"};
  base::Bilingual mask_length = {"{0}: {1} values of '{2}' for {3} input_ids; each id needs one",
                                 "{0}：“{2}”有 {1} 个值，对应 {3} 个 input_ids；每个 id 需要一个"};
  base::Bilingual mask_holds = {"{}: the mask '{}' holds {}, but must be an array of 0 and 1",
                                "{}：掩码“{}”中有{}，但应为由 0 和 1 组成的数组"};
  base::Bilingual mask_entry = {"{}: {} [{}] is {}, but must be 0 or 1", "{}：{} [{}] 为 {}，但应为 0 或 1"};
  base::Bilingual mask_in_middle = {
      "{}: attention_mask [{}] is 0 between ids that are seen, but only padding at the ends can be left out",
      "{}：attention_mask [{}] 为 0，但两侧的 id 都可见；只能去掉两端的填充"};
  base::Bilingual masked_label = {"{}: labels [{}] is {} where {} is 0: write -100 there",
                                  "{}：labels [{}] 为 {}，而该处的 {} 为 0：请在该处写 -100"};
  base::Bilingual loss_on_padding = {"{}: {} [{}] is 1 where attention_mask is 0: write 0 there",
                                     "{}：{} [{}] 为 1，而该处的 attention_mask 为 0：请在该处写 0"};
  base::Bilingual unknown_mask = {
      "{}: the mask '{}' is not known: known are attention_mask, and for the loss labels, {}; rename it, or take it "
      "out",
      "{}：未知的掩码“{}”：已知的有 attention_mask，以及用于损失的 labels、{}；请改名或去掉"};

  // Control tokens.
  base::Bilingual control_token = {
      "{}: the {} holds the control token {}, and data.control_tokens is refuse: change the text, or set it to text, "
      "which "
      "spells such tokens out",
      "{}：{} 含有控制 token {}，而 data.control_tokens 为 refuse：请修改文本，或设为 text，把这类 token 当作文本"};
  base::Bilingual control_kept = {
      "note: control tokens in the text of messages of {0} of '{1}' ({2}) are taken as tokens; --data.control-tokens "
      "text "
      "spells them out, refuse names the record",
      "注意：“{1}”中有 {0} 在消息文本中含有控制 token（{2}），会被当作 token；--data.control-tokens text "
      "把它们当作文本，refuse 会指出记录"};
  base::Bilingual control_spelled = {
      "note: control tokens in the text of messages of {0} of '{1}' ({2}) are spelled out as text",
      "注意：“{1}”中有 {0} 在消息文本中含有控制 token（{2}），会被当作文本"};
  base::Bilingual times = {"{0} {1}", "{0} {1} 次"};

  // What becomes of answers.
  base::Bilingual one_answer = {"{} answer", "{} 个回答"};
  base::Bilingual answers = {"{} answers", "{} 个回答"};
  base::Bilingual by_key = {"{} by '{}'", "{} 个由“{}”"};
  base::Bilingual masked = {"note: no loss on {0} of '{1}', as keys of the records say: {2}",
                            "注意：按记录中的键，“{1}”中有 {0} 不计算损失：{2}"};
  base::Bilingual empty = {"note: no loss on {0} of '{1}': no text, no call",
                           "注意：“{1}”中有 {0} 既无文本也无调用，不计算损失"};
  base::Bilingual emptied = {"note: no loss on {0} of '{1}': the chat template leaves nothing but the end mark",
                             "注意：“{1}”中有 {0} 经对话模板后只剩结束标记，不计算损失"};
  base::Bilingual unthought = {"note: the thinking is left out of {0} of '{1}', as data.thinking is false",
                               "注意：data.thinking 为 false，“{1}”中有 {0} 的思考被去掉"};
  base::Bilingual left_out = {
      "note: the chat template leaves out of '{0}': {1}; --data.chat-template names another one",
      "注意：对话模板未包含“{0}”中的：{1}；可用 --data.chat-template 指定其他模板"};
  base::Bilingual tools = {"the tools of {}", "{}的工具"};
  base::Bilingual tool_calls = {"the tool calls of {}", "{}的工具调用"};
  base::Bilingual reasoning = {"the reasoning_content of {}", "{}的 reasoning_content"};
  base::Bilingual messages_of = {"messages of the role '{1}' in {0}", "{0}中角色为“{1}”的消息"};

  // Too long ones.
  base::Bilingual longer = {"{} longer than {} ids", "{} 个超过 {} 个 id"};
  base::Bilingual too_long = {
      "{} has {} tokens, and data.too_long is error: set a larger --seq-len than {}, or --data.too-long drop or cut",
      "{}有 {} 个 token，而 data.too_long 为 error：请将 --seq-len 设为大于 {}，或设置 --data.too-long drop 或 cut"};
  base::Bilingual changed = {"'{}' was changed while it was read: start again", "“{}”在读取期间被改动：请重新开始"};
  base::Bilingual all_longer = {
      "every sample of '{}' is longer than {} ids, and data.too_long is drop: set a larger --seq-len",
      "“{}”的所有样本都超过 {} 个 id，而 data.too_long 为 drop：请增大 --seq-len"};
};
inline constexpr ConversationTexts conversation_texts{};

}  // namespace troika::data
