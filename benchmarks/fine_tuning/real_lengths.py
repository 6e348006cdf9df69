"""Conversations as long as real ones are, the same for a seed: lengths are log-normal, few are long and most are short.

Each word is one token in the vocabularies of SmolLM2 and Qwen, at the beginning of a text and after a space, so that a
conversation in ChatML has the drawn number of tokens, or one less a turn: `assistant` is two tokens of SmolLM2."""
import math
import random

CONVERSATIONS, MEDIAN, SPREAD, LONGEST, SHORTEST = 2000, 180, 1.0, 2048, 24
TURN = 11  # tokens of `<|im_start|>user`, `<|im_start|>assistant`, and of the two `<|im_end|>`, with their line ends
WORDS = """time year people way day man thing woman life child world school state family student group country problem hand
part place case week company system program question work number night point home water room mother area money story fact
month lot right study book eye job word business issue side kind head house service friend father power hour game line end
member law car city community name team minute idea body information back parent face others level office door health
person art war history party result change reason research girl moment air teacher force education good new first last long
great little own other old big high different small large next early young important few public bad same able make know
take see come think look want give use find tell ask feel try leave call keep let begin help show play run move live write
sit stand pay include continue set learn lead watch follow stop create read allow add grow open walk win offer remember
love consider buy wait die send expect build stay fall cut reach kill up out only just now then more also here well even
very still never again always often almost soon today each every both between under over after before because through
during without against where when while since until about into from with this that which what their there would could
should""".split()


def length(draw):
    """Tokens of one conversation."""
    return min(LONGEST, max(SHORTEST, round(MEDIAN * math.exp(SPREAD * draw.gauss(0, 1)))))


def conversation(draw):
    """One to three turns; a question has up to a third of the words of its turn."""
    tokens = length(draw)
    turns = draw.randint(1, max(1, min(3, tokens // 60)))
    words = tokens - TURN * turns
    ends = sorted(draw.sample(range(1, words // 4), turns - 1)) if turns > 1 else []
    counts = [4 * (b - a) for a, b in zip([0, *ends], [*ends, words // 4])]
    counts[-1] += words - sum(counts)
    text = lambda count: " ".join(draw.choice(WORDS) for _ in range(count))
    messages = []
    for count in counts:
        question = draw.randint(1, max(1, count // 3))
        messages += [{"role": "user", "content": text(question)}, {"role": "assistant", "content": text(count - question)}]
    return {"messages": messages}


def conversations(seed):
    draw = random.Random(seed)
    return [conversation(draw) for _ in range(CONVERSATIONS)]
