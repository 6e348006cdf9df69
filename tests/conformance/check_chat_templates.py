"""Chat templates rendered by Troika beside transformers' own `apply_chat_template`.

    check_chat_templates.py WORK_FOLDER

The published templates and generated conversations of tests/templates, and conversations with what only Python shows
as Python does: floats, large integers, equal messages; forty turns; content that is a list of parts. Then the whole way
from a file of conversations to the ids and the loss of a run, beside transformers' ids and mask of the assistant."""
import json
import pathlib
import subprocess
import sys

import tokenizers
import transformers

import conversations
import sequence_file
import small_models
import support

DRIVER = support.TROIKA.parent / "template_driver"
NUMBERS = [2.0, 1e-7, 1e16, 1e21, 0.1, -0.0, 123456789.125, 1 / 3, 2 ** 53 + 1, -(2 ** 62), 1e300]


def published(work):
    """Templates by name, and the generated conversations."""
    script = pathlib.Path(__file__).with_name("published_templates.mjs")
    printed = subprocess.run(["node", script, work], check=True, capture_output=True, text=True).stdout
    lines = [json.loads(line) for line in printed.split("\n") if line.startswith("{")]
    return ({line["name"]: line["source"] for line in lines if "name" in line},
            [line["conversation"] for line in lines if "conversation" in line])


def further():
    """Conversations that JavaScript cannot show as Python does, long ones and odd contents."""
    user = lambda content: {"role": "user", "content": content}
    said = lambda content: {"role": "assistant", "content": content}
    tool = {"type": "function", "function": {"name": "f", "description": "numbers", "parameters": {
        "type": "object", "properties": {"x": {"type": "number", "enum": NUMBERS, "default": 1.5e-9}}}}}
    called = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"x": NUMBERS, "n": None}}}]}
    answered = {"role": "tool", "tool_call_id": "call00001", "name": "f", "content": "2.0"}
    yield {"messages": [user("count"), called, answered, said("two")], "tools": [tool]}
    yield {"messages": [{"role": "system", "content": "short"}, user("again"), said("yes"), user("again"), said("yes")], "tools": None}
    yield {"messages": [one for k in range(40) for one in (user(f"question {k}"), said(f"answer {k}"))], "tools": None}
    yield {"messages": [user([{"type": "text", "text": "part one"}, {"type": "text", "text": "part two"}]), said("ok")], "tools": None}
    yield {"messages": [user("a"), user("b"), said("c")], "tools": None}
    yield {"messages": [said("first"), user("then")], "tools": None}
    yield {"messages": [{"role": "system", "content": "alone"}], "tools": None}
    yield {"messages": [user("")], "tools": []}
    yield {"messages": [{"role": "critic", "content": "unknown role"}, user("x")], "tools": None}


def jobs(talks):
    """Every conversation with and without a generation prompt and thinking."""
    for number, talk in enumerate(talks):
        for prompt in (False, True):
            for thinking in (False, True):
                yield {**talk, "add_generation_prompt": prompt, "enable_thinking": thinking, "date_string": "1 Jan 2025",
                       "tools_in_user_message": number % 2 == 0}


def of_transformers(tokenizer, source, context):
    members = dict(context)
    try:
        return {"text": tokenizer.apply_chat_template(members.pop("messages"), tools=members.pop("tools"), chat_template=source,
                                                      tokenize=False, **members)}
    except Exception as error:  # a template may fail in many ways
        return {"error": str(error)}


def of_troika(source, contexts):
    lines = "".join(json.dumps({"source": source, "context": {**context, "bos_token": "<s>", "eos_token": "</s>"}}) + "\n"
                    for context in contexts)
    printed = subprocess.run([DRIVER], input=lines, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in printed.split("\n") if line]


def compare(tokenizer, name, source, talks):
    contexts = list(jobs(talks))
    theirs = [of_transformers(tokenizer, source, context) for context in contexts]
    ours, different, refused = of_troika(source, contexts), 0, 0
    for context, one, other in zip(contexts, theirs, ours):
        refused += "error" in one
        if ("text" in one and one != other) or ("error" in one and "error" not in other):
            different += 1
            if different < 4:
                print(f"  {json.dumps(context)[:400]}\n  there {one}\n  here  {other}", flush=True)
    support.report("chat templates", name, f"{len(contexts)} renderings, {refused} of them refused by both, {different} differ",
                   different == 0 and len(ours) == len(contexts))


def odd_members():
    """Members that are null, reasoning under other names, and content beside calls."""
    user = {"role": "user", "content": "Why?", "name": None, "tool_calls": None}
    for name in ("reasoning_content", "thinking", "reasoning"):
        yield [user, {"role": "assistant", "content": "Because.", name: "Let me see.", "tool_calls": None}]
    yield [user, {"role": "assistant", "content": "Because.", "reasoning_content": None, "thinking": None, "reasoning": "r"}]
    call = {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}
    yield [user, {"role": "assistant", "content": "Calling.", "tool_calls": [call], "reasoning": "So."},
           {"role": "tool", "tool_call_id": "call00001", "content": "2", "tool_calls": None}, {"role": "assistant", "content": "Two."}]


def ids_of_run(folder, talks, loss_on, work):
    """What `troika train` would be given."""
    data = support.write_jsonl(work / "talks.jsonl", talks)
    support.troika("data", "inspect", "--model.path", folder, "--data.train", data, "--data.dedup", "false", "--data.loss-on",
                   loss_on, "--seq-len", 8192, "--samples", 1, "--out", work / "run", "--data.cache", work / "cache")
    (path,) = (work / "cache").glob("*.sequences")
    return sequence_file.read(path)


def model_folder(folder, tokenizer):
    config = small_models.configs(vocab=(len(tokenizer) + 7) // 8 * 8)["qwen3"]
    config.max_position_embeddings = 16384
    small_models.model_of(config, 1).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def check_samples(talks, work):
    """Ids and mask with a template that marks what the assistant writes."""
    work.mkdir()
    tokenizer = conversations.tokenizer_with_template()
    model_folder(work / "model", tokenizer)
    talks = [talk["messages"] for talk in talks if is_plain(talk["messages"])] + conversations.talks(60)
    ours = ids_of_run(work / "model", [{"messages": talk} for talk in talks], "answers", work)
    theirs = [conversations.ids_and_labels(tokenizer, talk) for talk in talks]
    masked = lambda ids, mask: tokenizer.decode([one for one, trained in zip(ids, mask) if trained])
    ids, answers = 0, 0
    for (our_ids, our_mask), one in zip(map(until_last_answer, ours), theirs):
        mask = [label != -100 for label in one["labels"]]
        ids += our_ids != one["input_ids"] or our_mask != mask
        answers += masked(our_ids, our_mask) != masked(one["input_ids"], mask)
    support.report("chat templates", "ids and mask of training samples", f"{len(ours)} conversations, {ids} differ in ids, "
                   f"{answers} in the text of answers", len(ours) == len(theirs) and ids == answers == 0)


def until_last_answer(sequence):
    """Without the line's end after it, which carries no loss."""
    ids, mask = sequence
    end = max((at + 1 for at, trained in enumerate(mask) if trained), default=0)
    return ids[:end], mask[:end]


def is_plain(talk):
    """With an answer that follows a question, and no answer that begins or ends with white space: ids are then cut at
    the same places, whether answers are tokenized apart or not."""
    said = [message["content"] for message in talk if message["role"] == "assistant"]
    return (bool(said) and talk[0]["role"] != "assistant" and all(isinstance(message["content"], str) for message in talk)
            and all(one == one.strip() and one for one in said))


def check_rendered(source, name, talks, work):
    """The text of whole conversations, from a file through Troika's reader, beside apply_chat_template."""
    work.mkdir()
    tokenizer = conversations.tokenizer_with_template()
    tokenizer.chat_template, tokenizer.bos_token = source, "<|endoftext|>"
    model_folder(work / "model", tokenizer)
    texts = [tokenizer.decode(ids) for ids, _ in ids_of_run(work / "model", [{"messages": talk} for talk in talks], "all", work)]
    theirs = [tokenizer.apply_chat_template(talk, tokenize=False, enable_thinking=True) for talk in talks]
    different = [pair for pair in zip(texts, theirs) if pair[0] != pair[1]]
    for ours, other in different[:2]:
        print(f"  there {other!r}\n  here  {ours!r}", flush=True)
    support.report("chat templates", f"{name}: members that are null, names of reasoning", f"{len(theirs)} conversations, "
                   f"{len(different)} differ", not different and len(texts) == len(theirs))


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(exist_ok=True)
    sources, talks = published(work / "packages")
    sources["with generation marks"] = conversations.TEMPLATE
    empty = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=empty, bos_token="<s>", eos_token="</s>")
    talks += list(further())
    for name, source in sources.items():
        compare(tokenizer, name, source, talks)
    check_samples(talks, work / "samples")
    for name in ("qwen3", "qwen2_5", "llama3_1"):
        check_rendered(sources[name], name, list(odd_members()), work / name)
    support.finish()


if __name__ == "__main__":
    main()
