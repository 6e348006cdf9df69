#!/usr/bin/env python3
"""Counts the instructions of the inner loops of kernels in an arm64 program, from its disassembly.

    tools/arm64-instructions.py PROGRAM [OBJDUMP]

One line for each body: the instructions of its innermost loop, how many of them compute with vectors (what the loop needs) and
how many load or store, and instructions per multiply-add; one fmla makes four. Ends with 1 where a body is not found or takes
more than its bound.
"""
import re
import subprocess
import sys

# name, pattern of the function, most instructions per multiply-add (of the whole loop, loads and its own steps included)
BODIES = [
    ("product", r"N_NEON::.*product_tile<3>\(", 0.33),
    ("attention, rows by vectors", r"N_NEON::multiply_tile<.*Floats, 2, .*ByRow<", 0.35),
    ("attention, columns by vectors", r"N_NEON::multiply_tile<.*Floats, 2, .*ByColumn<", 0.35),
    ("RMSNorm forward, squares", r"N_NEON::rms_norm_forward_rows\(", 0.60),
    ("RMSNorm backward, gradients", r"N_NEON::rms_norm_backward_rows\(", 1.00),
    ("few rows", r"N_NEON::.*outputs_by_rows<float>", 0.80),
]


def functions(program, objdump):
    """Name and (address, mnemonic, operands) of each function's instructions."""
    text = subprocess.run([objdump, "-d", "-C", "--no-show-raw-insn", program], check=True, capture_output=True, text=True)
    name, body = None, []
    for line in text.stdout.splitlines():
        head = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if head:
            if name:
                yield name, body
            name, body = head.group(1), []
            continue
        parts = line.split("\t")
        if name and len(parts) >= 2 and re.match(r" *[0-9a-f]+:$", parts[0]):
            body.append((int(parts[0].strip()[:-1], 16), parts[1], parts[2] if len(parts) > 2 else ""))
    if name:
        yield name, body


def innermost_loops(body):
    loops = []
    for at, (address, mnemonic, operands) in enumerate(body):
        if not re.match(r"b\.|cbn?z|tbn?z|b$", mnemonic):
            continue
        target = re.search(r"(?:^|, )([0-9a-f]+) <", operands)
        if target and body[0][0] <= int(target.group(1), 16) <= address:
            begin = next(i for i, one in enumerate(body) if one[0] == int(target.group(1), 16))
            loops.append((begin, at + 1))
    return [one for one in loops if not any(other != one and one[0] <= other[0] and other[1] <= one[1] for other in loops)]


def multiply_adds(loop):
    return sum(4 for _, mnemonic, operands in loop if mnemonic in ("fmla", "fmls") and ".4s" in operands)


def arithmetic(loop):
    return sum(1 for _, mnemonic, operands in loop if re.match(r"f(mla|mls|mul|add|sub|max|min)$", mnemonic) and ".4s" in operands)


def main():
    program = sys.argv[1]
    objdump = sys.argv[2] if len(sys.argv) > 2 else "aarch64-linux-gnu-objdump"
    found = {name: None for name, _, _ in BODIES}
    for function, body in functions(program, objdump):
        for name, pattern, _ in BODIES:
            if not re.search(pattern, function):
                continue
            for begin, end in innermost_loops(body):
                loop = body[begin:end]
                many = multiply_adds(loop)
                if many and (found[name] is None or many > found[name][1]):
                    found[name] = (len(loop), many, arithmetic(loop), sum(1 for _, m, _ in loop if re.match("ld|st", m)))
    failed = 0
    for name, _, bound in BODIES:
        if found[name] is None:
            print(f"FAIL  {name}: no loop with fmla found")
            failed += 1
            continue
        instructions, many, computing, moves = found[name]
        ratio = instructions / many
        good = ratio <= bound
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'}  {name}: {instructions} instructions, {computing} of them vector arithmetic and {moves} loads and "
              f"stores, for {many} multiply-adds: {ratio:.3f} each, needed {computing / many:.3f} (at most {bound:.2f})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
