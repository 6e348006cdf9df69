import test from 'node:test'
import assert from 'node:assert'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { missingLine, statements } from './guide.mjs'

test('a promised line is found whatever its numbers, and in order', () => {
  assert.equal(missingLine('step 3 loss 5.1 took 7 ms\n...\ndone', 'x\nstep 9 loss 4.25 took 1.5 s\ny\ndone'), null)
  assert.equal(missingLine('done\nstep 3', 'step 3\ndone'), 'step 3')
  assert.equal(missingLine('model qwen ...', 'model   qwen with 4 layers'), null)
  assert.equal(missingLine('model qwen', 'model qwen with 4 layers'), 'model qwen')
})

test('a here-document and a continued line belong to their statement, comments do not', () => {
  assert.deepEqual(statements("cat > a <<'END'\n# kept\nEND\n# not kept\none \\\n  two # nor this\n"),
    ["cat > a <<'END'\n# kept\nEND", 'one \\\n  two'])
})

const here = path.dirname(new URL(import.meta.url).pathname)
function run(page) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'troika-guide-test-'))
  try {
    const file = path.join(folder, 'page.md')
    fs.writeFileSync(file, page.replaceAll("'''", '```'))
    return spawnSync(process.execPath, [path.join(here, 'run.mjs'), '/bin/true', file], { encoding: 'utf8' }).status
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

test('a guide whose commands do and print what it says passes', () => {
  assert.equal(run("'''sh\nexport A=5\n'''\n'''sh fails=3\necho $A\nexit 3\n'''\n'''text\n5\n'''\n"), 0)
})
test('a guide with another exit code, another output, or no command fails', () => {
  assert.equal(run("'''sh\nfalse\necho\n'''\n"), 1)
  assert.equal(run("'''sh fails=3\ntrue\n'''\n"), 1)
  assert.equal(run("'''sh\necho one\n'''\n'''text\ntwo\n'''\n"), 1)
  assert.equal(run('# nothing\n'), 1)
})
