"""Reads a prompt and draws the likeliest tokens with llama.cpp, for decode.py, and prints one line of JSON.

    llama_decode.py FILE.gguf PROMPT_FILE TOKENS THREADS

A token is decoded before anything is timed, as llama.cpp's own tools do."""
import json
import pathlib
import sys
import time

import llama_cpp


def main():
    model, tokens, threads = sys.argv[1], int(sys.argv[3]), int(sys.argv[4])
    llama = llama_cpp.Llama(model, n_ctx=2048, n_threads=threads, n_threads_batch=threads, verbose=False)
    prompt = llama.tokenize(pathlib.Path(sys.argv[2]).read_bytes(), add_bos=False)
    llama.eval(prompt[:1])
    llama.reset()
    drawn, begin = [], time.perf_counter()
    llama.eval(prompt)
    drawn.append(llama.sample(temp=0))
    first = time.perf_counter()
    while len(drawn) < tokens:
        llama.eval(drawn[-1:])
        drawn.append(llama.sample(temp=0))
    seconds = time.perf_counter() - first
    print(json.dumps({"prompt_tokens": len(prompt), "prompt_tokens_per_second": round(len(prompt) / (first - begin), 2),
                      "tokens_per_second": round((len(drawn) - 1) / seconds, 2), "version": llama_cpp.__version__}))


if __name__ == "__main__":
    main()
