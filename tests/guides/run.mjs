// Runs every command of a guide in order, as its reader would, and compares what the guide promises to be printed.
//   node run.mjs TROIKA GUIDE.md
// The working folder is new and empty; the folder of TROIKA comes first in PATH. `scp FILES HOST:` copies between the hosts.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Hosts } from './hosts.mjs'
import { missingLine, readGuide } from './guide.mjs'

const [troika, page] = process.argv.slice(2)
if (!page) {
  console.error('usage: run.mjs TROIKA GUIDE.md')
  process.exit(2)
}
const guide = readGuide(page)
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'troika-guide-'))
const tools = path.join(folder, '.tools')
const seconds = 150 // of one block
let hosts = null
const running = []

function cleanUp() {
  for (const job of running) {
    try { process.kill(-job.child.pid, 'SIGKILL') } catch { /* it has ended */ }
  }
  hosts?.end()
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => { cleanUp(); process.exit(130) })

function environment() {
  const all = { ...process.env, PATH: `${tools}:${path.dirname(path.resolve(troika))}:${process.env.PATH}`, LC_ALL: 'C.UTF-8',
    HOME: folder, XDG_CONFIG_HOME: path.join(folder, '.config'), OMP_NUM_THREADS: '1', GUIDE_HOSTS: folder }
  for (const name of ['BATCH_SIZE', 'MICROBATCH_NUM', 'MASTER_PORT', 'MASTER_ADDR', 'NNODES', 'NODE_RANK']) delete all[name]
  return all
}

function fail(block, text, output) {
  console.log(`${page}:${block.line}: ${text}`)
  console.log(output.split('\n').slice(-60).map((line) => `  | ${line}`).join('\n'))
  return false
}

// Runs one block; returns its output (that of its first host), or false when it did not do what the guide says.
async function run(block) {
  const names = block.options.on ? block.options.on.split(',') : [null]
  const jobs = names.map((name) => hosts.start(name, block.text, environment()))
  running.push(...jobs)
  if (block.options.background) {
    for (let i = 0; i < 100 && jobs.every((job) => job.said() === ''); ++i) await new Promise((go) => setTimeout(go, 100))
    return jobs[0].said()
  }
  const timer = setTimeout(() => jobs.forEach((job) => process.kill(-job.child.pid, 'SIGKILL')), seconds * 1000)
  const ended = await Promise.all(jobs.map((job) => job.ended))
  clearTimeout(timer)
  const wanted = Number(block.options.fails ?? 0)
  for (const [i, { code, output }] of ended.entries()) {
    const where = names[i] === null ? '' : ` on ${names[i]}`
    if (code !== wanted) return fail(block, `exit code ${code}${where}, not ${wanted}`, output)
  }
  return ended[0].output
}

async function main() {
  fs.mkdirSync(tools)
  fs.writeFileSync(path.join(tools, 'scp'), '#!/bin/sh\n# scp [-r] FILE... HOST:[FOLDER]\nfor last; do :; done\n' +
    'to=$GUIDE_HOSTS/${last%%:*}/${last#*:}\nfor file; do case $file in -r | "$last") ;; *) cp -r "$file" "$to" ;; esac; done\n', { mode: 0o755 })
  hosts = new Hosts(guide.hosts, guide.rate, folder)
  let output = null
  let count = 0
  for (const block of guide.blocks) {
    if (block.language === 'sh') {
      output = null
      if (block.options.elsewhere) continue
      const begin = Date.now()
      output = await run(block)
      if (output === false) return false
      ++count
      console.log(`ok ${((Date.now() - begin) / 1000).toFixed(1)} s  line ${block.line}: ${block.text.split('\n')[0]}`)
    } else if (block.language === 'text' && !block.options.example) {
      if (output === null) continue // of a block that was not run
      const missing = missingLine(block.text, output)
      if (missing !== null) return fail(block, `not printed: ${missing}`, output)
    }
  }
  if (count === 0) {
    console.log(`${page}: no command to run`)
    return false
  }
  console.log(`${count} blocks`)
  return true
}

let well = false
try {
  well = await main()
} catch (error) {
  console.log(String(error.stack ?? error))
} finally {
  cleanUp()
}
process.exit(well ? 0 : 1)
